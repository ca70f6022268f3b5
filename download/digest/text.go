package digest

// MarshalText returns the text of String, so that JSON and logs show a Sum as people write it.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets s to what Parse returns. Empty text sets the zero value.
func (s *Sum) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*s = Sum{}
		return nil
	}
	*s, err = Parse(string(text))
	return err
}
