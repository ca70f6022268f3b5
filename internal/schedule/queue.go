package schedule

// queue is a queue of jobs with cheap operations at both ends.
type queue[T any] struct {
	front []Job[T] // the first job is its last element
	back  []Job[T] // from head on
	head  int
}

func (q *queue[T]) len() int    { return len(q.front) + len(q.back) - q.head }
func (q *queue[T]) empty() bool { return q.len() == 0 }

func (q *queue[T]) push(job Job[T], front bool) {
	if front {
		q.front = append(q.front, job)
		return
	}
	if q.head > 64 && q.head > len(q.back)/2 { // the taken half makes room
		n := copy(q.back, q.back[q.head:])
		clear(q.back[n:])
		q.back, q.head = q.back[:n], 0
	}
	q.back = append(q.back, job)
}

// pop removes the first job. The queue must not be empty.
func (q *queue[T]) pop() (job Job[T]) {
	var none Job[T]
	if last := len(q.front) - 1; last >= 0 {
		job, q.front[last] = q.front[last], none
		q.front = q.front[:last]
		return job
	}
	job, q.back[q.head] = q.back[q.head], none
	q.head++
	return job
}
