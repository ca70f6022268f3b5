package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// Shard is one of Count equal shares of the items. Index counts from 1. The zero
// value is all items.
type Shard struct{ Index, Count int }

// String returns "I/N", or "" for the zero value.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// Has reports whether the item belongs to the share. Every item belongs to just
// one of the Count shares, and to the same on every machine: the first URL
// decides, whatever its password and however it is spelled.
func (s Shard) Has(item Item) bool {
	if s.Count <= 1 {
		return true
	}
	return shardHash(item.URLs[0])%uint64(s.Count) == uint64(s.Index-1)
}

// shardHash is the same for all spellings of a URL.
func shardHash(u *urlparse.URL) uint64 {
	u = u.WithoutPassword()
	port := u.PortOrDefault()
	if u.Port = 0; u.PortOrDefault() != port {
		u.Port = port
	}
	return sha64(u.String())
}

const shardForm = "write I/N, such as 3/10 for the third of ten shares"

// ParseShard reads a share as a person writes it:
//
//	I/N     the share I of N, from 1/N to N/N
//	auto    the place of this job in the array of jobs that it belongs to
//	auto/N  the same, in an array of N jobs
//
// For auto, getenv (such as [os.Getenv]) tells what the scheduler says: Slurm
// (SLURM_ARRAY_TASK_ID, _COUNT, _MIN, _MAX and _STEP), AWS Batch
// (AWS_BATCH_JOB_ARRAY_INDEX and _SIZE) or Kubernetes (JOB_COMPLETION_INDEX;
// Kubernetes does not tell how many there are, so auto/N is needed). The error is
// one line that says what to write instead.
func ParseShard(text string, getenv func(string) string) (Shard, error) {
	index, count, both := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "/")
	switch {
	case index == "auto" && !both:
		return fromJob(0, getenv)
	case !both:
		return Shard{}, fmt.Errorf("%q is not a share: %s", text, shardForm)
	}
	n, ok := number(count)
	if !ok || n < 1 {
		return Shard{}, fmt.Errorf("%q: the number of shares is not a number from 1 on: %s", text, shardForm)
	}
	if index == "auto" {
		return fromJob(n, getenv)
	}
	i, ok := number(index)
	switch {
	case ok && i == 0:
		return Shard{}, fmt.Errorf("%q: shares count from 1: write 1/%d for the first", text, n)
	case !ok || i > n:
		return Shard{}, fmt.Errorf("%q: the share is not a number from 1 to %d: %s", text, n, shardForm)
	}
	return Shard{i, n}, nil
}

// number reads digits.
func number(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil
}

// job is the place of this process in an array of jobs.
type job struct {
	index, count int // from 0; count is 0 if the scheduler does not tell it
}

// The variables of schedulers that number jobs.
const (
	slurmID     = "SLURM_ARRAY_TASK_ID"
	awsIndex    = "AWS_BATCH_JOB_ARRAY_INDEX"
	kubernetesI = "JOB_COMPLETION_INDEX"
)

// fromJob returns the share of this job. A count that the user gave must be that
// of the scheduler.
func fromJob(count int, getenv func(string) string) (Shard, error) {
	name, err := scheduler(getenv)
	if err != nil {
		return Shard{}, err
	}
	place := map[string]func(func(string) string) (job, error){slurmID: slurmJob, awsIndex: awsJob, kubernetesI: kubernetesJob}[name]
	j, err := place(getenv)
	if err != nil {
		return Shard{}, err
	}
	switch {
	case j.count == 0 && count == 0:
		return Shard{}, fmt.Errorf("%s is set, but nothing tells how many jobs there are: write auto/N, with N as in .spec.completions", name)
	case j.count != 0 && count != 0 && j.count != count:
		return Shard{}, fmt.Errorf("the array has %d jobs, not %d: write auto, or I/%d if only some of its jobs run again", j.count, count, count)
	case j.count == 0:
		j.count = count
	}
	if j.index >= j.count {
		return Shard{}, fmt.Errorf("%s is %s, which is not one of %d jobs: %s", name, getenv(name), j.count, shardForm)
	}
	return Shard{j.index + 1, j.count}, nil
}

// scheduler returns the variable that numbers this job.
func scheduler(getenv func(string) string) (string, error) {
	var set []string
	for _, name := range []string{slurmID, awsIndex, kubernetesI} {
		if getenv(name) != "" {
			set = append(set, name)
		}
	}
	switch len(set) {
	case 0:
		return "", fmt.Errorf("none of %s, %s and %s is set, so this is no job of an array: %s", slurmID, awsIndex, kubernetesI, shardForm)
	case 1:
		return set[0], nil
	}
	return "", fmt.Errorf("%s are set: %s", strings.Join(set, " and "), shardForm)
}

// slurmJob counts from the least number of the array, in its steps. An array of
// numbers with gaps says nothing about a job's place.
func slurmJob(getenv func(string) string) (job, error) {
	id, err := variable(getenv, slurmID)
	if err != nil {
		return job{}, err
	}
	var v [4]int
	for i, name := range []string{"SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"} {
		if name == "SLURM_ARRAY_TASK_STEP" && getenv(name) == "" {
			v[i] = 1 // older versions do not set it
			continue
		}
		if v[i], err = variable(getenv, name); err != nil {
			return job{}, err
		}
	}
	count, first, last, step := v[0], v[1], v[2], max(v[3], 1)
	if count < 1 || first+(count-1)*step != last || id < first || id > last || (id-first)%step != 0 {
		return job{}, errors.New("the numbers of the Slurm array have gaps: write sbatch --array=1-N or I/N")
	}
	return job{(id - first) / step, count}, nil
}

func awsJob(getenv func(string) string) (j job, err error) {
	if j.index, err = variable(getenv, awsIndex); err != nil || getenv("AWS_BATCH_JOB_ARRAY_SIZE") == "" {
		return j, err
	}
	j.count, err = variable(getenv, "AWS_BATCH_JOB_ARRAY_SIZE")
	return j, err
}

func kubernetesJob(getenv func(string) string) (j job, err error) {
	j.index, err = variable(getenv, kubernetesI)
	return j, err
}

// variable reads a number from the environment.
func variable(getenv func(string) string, name string) (int, error) {
	text := getenv(name)
	if text == "" {
		return 0, fmt.Errorf("%s is not set: %s", name, shardForm)
	}
	n, ok := number(text)
	if !ok {
		return 0, fmt.Errorf("%s is not a number: %s", name, shardForm)
	}
	return n, nil
}
