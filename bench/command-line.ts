import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram } from '../deploy/build-program.ts'
import { resolveBinaries } from '../deploy/local/server-binaries.ts'
import { circumstances, percentile, table } from './report.ts'

/** Starts between two looks at the clock, whose ticks may be hundredths of a second. */
const startsEach = 4

/** Nobody listens at port 9: what is measured is all that a command does before and after it asks. */
const kubeconfig = `apiVersion: v1
kind: Config
current-context: nobody
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
clusters: [{name: nobody, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: nobody, user: {token: none}}]
`

/** Processor time of a start of the bundle, by command, beside that of Node itself and of kubectl. `rounds`: of four starts each, in turn. */
export async function commandLine({ rounds }: { readonly rounds: number }): Promise<void> {
  const program = await buildProgram({ withWorkflows: false })
  const folder = mkdtempSync(join(tmpdir(), 'joiner-bench-'))
  const file = join(folder, 'kubeconfig')
  writeFileSync(file, kubeconfig)
  const example = fileURLToPath(new URL('../examples/spot.yaml', import.meta.url))
  const { kubectl } = await resolveBinaries(['kubectl'], console.error)
  const joiner = (...args: readonly string[]) => [process.execPath, program, ...args]
  const commands = {
    'node -e 0': [process.execPath, '-e', '0'],
    'kubectl version --client': [kubectl, 'version', '--client'],
    '--version': joiner('--version'),
    'complete st': joiner('complete', '--', 'st'),
    'complete status --out': joiner('complete', '--', 'status', '--out'),
    '--help': joiner('--help'),
    'status --help': joiner('status', '--help'),
    'convert FILE': joiner('convert', example),
    'validate FILE': joiner('validate', example),
    'simulate FILE': joiner('simulate', example, '--complete'),
    'why pod (refused)': joiner('why', 'pod', 'a/b', '--kubeconfig', file),
    'status (refused)': joiner('status', '--kubeconfig', file),
  }
  const seconds = new Map(Object.keys(commands).map((name) => [name, [] as number[]]))
  // The first round compiles.
  for (let round = 0; round <= rounds; round++)
    for (const [name, command] of Object.entries(commands)) {
      const each = startSeconds(command)
      if (round > 0) seconds.get(name)?.push(each)
    }
  rmSync(folder, { recursive: true })
  const node = percentile(seconds.get('node -e 0') ?? [], 50)
  console.log(circumstances())
  console.log(
    table(
      ['command', 'CPU seconds (median)', 'above node -e 0'],
      [...seconds].map(([name, all]) => {
        const median = percentile(all, 50)
        return [`\`${name}\``, median.toFixed(3), (median - node).toFixed(3)]
      }),
    ),
  )
}

/** User and system time of one start, threads included. */
function startSeconds(command: readonly string[]): number {
  const script = `for at in ${'x '.repeat(startsEach)}; do "$@" >/dev/null 2>&1 </dev/null; done; times`
  const printed = execFileSync('sh', ['-c', script, 'sh', ...command], { encoding: 'utf8' })
  const [, ofChildren = ''] = printed.trim().split('\n')
  const sum = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (all, [, minutes, rest]) => all + Number(minutes) * 60 + Number(rest),
    0,
  )
  return sum / startsEach
}
