package digest

// MarshalText returns String, so that JSON and logs show a Sum as people write it.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is Parse. No text means no digest.
func (s *Sum) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*s = Sum{}
		return nil
	}
	*s, err = Parse(string(text))
	return err
}
