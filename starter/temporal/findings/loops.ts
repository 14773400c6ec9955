import { singletonIds } from '../../../core/task-queues.ts'
import { loops, runningLoop } from '../../bridge/cluster-loops.ts'
import { type Finding, findingsOf, type LookContext } from './finding.ts'

/** A retry or two are the day's work, such as while workers are replaced. */
const manyAttempts = 3

/** Whether both loops run and get on. They are described, not listed: that works while Temporal's visibility store does not. */
export async function lookAtLoops({ client, cluster }: LookContext): Promise<readonly Finding[]> {
  const { namespace } = client.options
  const looks = loops.map((loop) => {
    const workflowId = singletonIds[loop](cluster)
    const object = `workflow ${workflowId}`
    const run = async (): Promise<readonly Finding[]> => {
      const running = await runningLoop({ client, cluster }, loop)
      if (running === undefined)
        return [
          {
            object,
            fault: 'loop not running',
            remedy: 'a process with the role bridge starts it: kubectl get pods --namespace joiner',
            repair: { kind: 'bootstrap' },
          },
        ]
      const attempt = running.raw.pendingWorkflowTask?.attempt ?? 1
      if (attempt < manyAttempts) return []
      return [
        {
          object,
          fault: 'workflow task fails',
          detail: `attempt ${attempt}`,
          remedy: `see the log of the role core; to have it started again: temporal workflow terminate --workflow-id ${workflowId} --namespace ${namespace}`,
        },
      ]
    }
    return findingsOf({ what: object, run })
  })
  return (await Promise.all(looks)).flat()
}
