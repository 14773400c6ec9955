import { taskQueue } from '../../../core/task-queues.ts'

/** The queues of a cluster named `test`; the first one is that of workflows. */
export const taskQueues = [
  taskQueue('core', 'test'),
  taskQueue('azure', 'test'),
  taskQueue('plan', 'test'),
  taskQueue('wait', 'test'),
  taskQueue('maintenance', 'test'),
] as const
