import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import color from 'picocolors'
import { Show } from './show.ts'

/**
 * The main job, for a person to watch: pods become nodes, idle nodes go, a deleted node is replaced, and a VM is found that a killed process requested.
 * A small world is left to look at until Ctrl-C. Returns the exit code: 0 when every stage came about and nothing was left behind, 130 after Ctrl-C.
 */
export async function demo({ exit }: { readonly exit: boolean }): Promise<number> {
  const stateDir = await mkdtemp(join(tmpdir(), 'joiner-demo-'))
  const { signal, interrupted } = interruption()
  let show: Show | undefined
  try {
    show = await Show.start(stateDir, signal)
    const clean = await Promise.race([interrupted, perform(show)])
    const invitation = await Promise.race([interrupted, show.invite()])
    if (!exit) {
      for (const line of invitation) console.log(line)
      const forever = setInterval(() => {}, 60_000)
      await interrupted.finally(() => clearInterval(forever))
    }
    const left = await show.stop()
    console.log(`processes left: ${left}`)
    return clean && left === 0 ? 0 : 1
  } catch (error) {
    if (signal.aborted) return 130
    console.error(color.red(error instanceof Error ? error.message : String(error)))
    if (show !== undefined) console.error(await show.logTail())
    return 1
  } finally {
    await show?.stop()
    await rm(stateDir, { recursive: true, force: true })
  }
}

/** All stages. Returns whether nothing was left behind. */
async function perform(show: Show): Promise<boolean> {
  await show.install()
  await show.scaleUp()
  await show.scaleDown()
  await show.deleteNode()
  await show.scaleDown()
  await show.killDuringLaunch()
  await show.scaleDown()
  return show.summary()
}

/** What a person who ends the demo sends, also by closing the terminal. `interrupted` rejects then. */
function interruption(): { readonly signal: AbortSignal; readonly interrupted: Promise<never> } {
  const controller = new AbortController()
  const { signal } = controller
  const interrupted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  interrupted.catch(() => {})
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort())
  return { signal, interrupted }
}
