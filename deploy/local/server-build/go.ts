import { type ExecFileException, execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const oldestGo = [1, 26] as const

/** What a machine has to have, and what a probe found instead. */
export interface Lack {
  readonly capability: string
  readonly found: string
}

/** Errors: there is no Go on the PATH, or an old one. */
export async function requireGo(): Promise<void> {
  const lack = await goLack()
  if (lack === undefined) return
  const { capability, found } = lack
  throw new Error(
    `${capability} is needed to build the local servers, and ${found}: install it (https://go.dev/doc/install) and put it on the PATH, or name the binaries in JOINER_<SERVER>_BINARY`,
  )
}

/** Asks the Go on the PATH for its version. Undefined: it can build servers. */
export async function goLack(): Promise<Lack | undefined> {
  const capability = `Go ${oldestGo.join('.')} or newer`
  let text: string
  try {
    text = (await run('go', ['env', 'GOVERSION'])).stdout.trim()
  } catch (error) {
    const isNone = (error as ExecFileException).code === 'ENOENT'
    return { capability, found: isNone ? 'there is none on the PATH' : 'the one on the PATH does not run' }
  }
  const [major = 0, minor = 0] = text.replace('go', '').split('.').map(Number)
  const isOld = major < oldestGo[0] || (major === oldestGo[0] && minor < oldestGo[1])
  return isOld ? { capability, found: `the one on the PATH is ${text}` } : undefined
}
