import { condition, continueAsNew, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow'
import { loopStatusQuery } from './messages.ts'
import { LoopPause } from './pausing.ts'

/**
 * Takes an operator's pauses of provisioning, and sleeps. It does not provision: the planner does, and reads the pauses in the cluster before it writes
 * (docs/adr/0048-work-goes-on-while-temporal-is-away.md).
 */
export async function provisioningLoop(input: { readonly cluster: string }): Promise<void> {
  const pause = new LoopPause('provisioning')
  let doing = 'starting'
  let sinceMs = Date.now()
  const enter = (what: string) => {
    if (doing !== what) sinceMs = Date.now()
    doing = what
    setCurrentDetails(`${what} since ${new Date(sinceMs).toISOString()}.${pause.refusedText}`)
  }
  pause.listen({
    pause:
      'Create no NodeClaims until resumed: {"reason": "...", "until": "RFC 3339 time", "by": "..."}, all optional.',
    resume: 'Go on creating NodeClaims: {"at": the time now as RFC 3339, "by": "..."}; at is needed.',
  })
  setHandler(loopStatusQuery, () => ({ doing, sinceMs, ...pause.state }))
  const isOver = () => workflowInfo().continueAsNewSuggested
  await pause.during(async () => {
    await pause.recover()
    while (!isOver()) {
      await pause.apply()
      if (pause.current === undefined) {
        enter('provisioning')
        await condition(() => pause.hasCommands || isOver())
      } else {
        enter(`paused (${pause.current.reason})`)
        await pause.untilChanged(isOver)
      }
    }
    await pause.finish()
    await continueAsNew<typeof provisioningLoop>(input)
  })
}
