// The solver's thread with a scheduler that fails; it stands in for activities/scheduler-thread/thread.ts in tests.
import { serveThread } from '../../activities/scheduler-thread/serve.ts'
import { faultyScheduler } from './faulty-scheduler.ts'

serveThread(faultyScheduler)
