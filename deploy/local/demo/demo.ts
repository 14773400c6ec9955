import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import color from 'picocolors'
import { Show } from './show.ts'

/**
 * The main job, for a person to watch: pods become nodes, idle nodes go, a deleted node is replaced, and a VM is found that a killed process requested.
 * Returns the exit code: 0 when every stage came
 * about and nothing was left behind.
 */
export async function demo({ exit }: { readonly exit: boolean }): Promise<number> {
  const stateDir = await mkdtemp(join(tmpdir(), 'joiner-demo-'))
  let show: Show | undefined
  const stop = async (code: number) => {
    await show?.stop()
    await rm(stateDir, { recursive: true, force: true })
    process.exit(code)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(130))
  try {
    show = await Show.start(stateDir)
    await show.scaleUp()
    await show.scaleDown()
    await show.deleteNode()
    await show.scaleDown()
    await show.killDuringLaunch()
    await show.scaleDown()
    const clean = await show.summary()
    if (!exit) {
      show.stay()
      await new Promise(() => setInterval(() => {}, 60_000))
    }
    const left = await show.stop()
    console.log(`processes left: ${left}`)
    return clean && left === 0 ? 0 : 1
  } catch (error) {
    console.error(color.red(error instanceof Error ? error.message : String(error)))
    console.error(await show?.logTail())
    return 1
  } finally {
    await show?.stop()
    await rm(stateDir, { recursive: true, force: true })
  }
}
