import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { circumstances, table } from '../../bench/report.ts'
import { rulesText } from '../../deploy/alerts/alerts.ts'
import { Buildah } from '../../deploy/local/image/buildah.ts'
import { resolveBinaries } from '../../deploy/local/server-binaries.ts'
import type { ServerName } from '../../deploy/local/server-versions.ts'
import { resolveAzureCli } from '../real-clients/azure-cli.ts'
import { proveAzureCli } from '../real-clients/prove.ts'
import { World } from '../world.ts'
import { evaluate } from './evaluate.ts'
import { scaleByKeda } from './keda.ts'
import { bringToLife, type LivingCluster, live } from './life.ts'
import { mutate } from './mutations.ts'
import { Prometheus } from './prometheus.ts'
import { isOfDebian, parts, proofHead, proofRows, proofs, skipsOf, unexpectedSkips } from './proofs.ts'
import type { Checked, Part, Recorder } from './report.ts'
import { testRules } from './rule-tests.ts'

/** Durations of alerts with seconds in place of minutes. */
const sixtyTimesFaster = { range: (minutes: number) => `${minutes}s`, seconds: (minutes: number) => minutes }

/** Parts that are a command of their own. */
const commands = {
  image: ['image'],
  'real-nodes': ['real-nodes'],
  'joined-nodes': ['real-nodes', '--', '--joined', '--profile', 'single'],
} as const

const isByCommand = (part: Part): part is keyof typeof commands => part in commands

await new Command('npm run ecosystem --')
  .description(
    "Boards, alerts and examples with the real servers of others. rules: promtool checks and tests the chart's alerts. boards: Prometheus scrapes a Joiner that goes through a small life, and evaluates each expression of the chart's and of widespread boards and alerts. mutations: the conditions of alerts are brought about, and the alerts fire. keda: KEDA's operator scales the example, and Joiner makes and removes its nodes. image: buildah makes the image. real-nodes: a real kubelet runs it. joined-nodes: VMs have real kubelets too. azure-cli: the Azure CLI runs its commands on our pages, and those of joiner admin aks setup, against the simulator. What is missing is built on the first run, which takes some ten minutes. Lists at its end what is proved by whose software. Ends with 1 when something is not as it should be, or when a part is skipped that has no line in test/ecosystem/expected-skips.",
  )
  .addOption(new Option('--only <part...>', 'some parts of it').choices(parts).default(parts, 'all'))
  .action(main)
  .parseAsync()

async function main({ only }: { readonly only: readonly Part[] }): Promise<void> {
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  const checked: Checked[] = []
  const recorder: Recorder = { say, record: (one) => checked.push(one) }
  const skips = await skipsOf(only, say)
  const able = only.filter((part) => skips.every((skip) => skip.part !== part))
  const servers = able.map((part) => proofs[part].by).filter((by) => !isOfDebian(by))
  const binaries: Binaries = await resolveBinaries([...new Set(servers)], say)
  if (binaries.promtool !== undefined) await testRules(binaries.promtool, recorder)
  const azureCli = able.includes('azure-cli') ? await resolveAzureCli(say) : undefined
  if (azureCli !== undefined) await toItsEnd('azure-cli', recorder, () => proveAzureCli(azureCli, recorder))
  for (const part of able) if (isByCommand(part)) await toItsEnd(part, recorder, () => proveByCommand(part, recorder))
  const buildah = able.includes('image') ? await Buildah.find(say) : undefined
  const inside = able.filter((part) => proofs[part].inCluster)
  if (inside.length > 0) await inCluster({ only: inside, binaries, recorder })
  const isOk = report(only, {
    checked,
    skips,
    date: new Date().toISOString().slice(0, 10),
    versions: {
      ...(azureCli && { 'azure-cli': azureCli.version }),
      ...(buildah && { buildah: await buildah.version() }),
    },
  })
  if (!isOk) process.exitCode = 1
}

/** Prints all checks, then what is proved by others, then what was skipped. Returns whether all is as it should be. */
function report(only: readonly Part[], ended: Parameters<typeof proofRows>[1]): boolean {
  const { checked, skips } = ended
  const rows = checked.map(({ part, what, outcome, isOk }) => [part, what, outcome, isOk ? 'ok' : 'FAILED'])
  console.log(`\n${circumstances()}\n\n${table(['part', 'what', 'outcome', ''], rows)}`)
  const failed = checked.filter(({ isOk }) => !isOk)
  const empty = checked.filter(({ outcome }) => /^NO DATA|^CANNOT FIRE/.test(outcome))
  console.log(
    `\n${checked.length} checks, ${failed.length} failed; ${empty.length} expressions without data, of which ${empty.filter(({ isOk }) => isOk).length} are of work queues that only Karpenter has`,
  )
  console.log(`\nProved by others:\n\n${table(proofHead, proofRows(only, ended))}`)
  const unexpected = unexpectedSkips(skips, readFileSync(new URL('expected-skips', import.meta.url), 'utf8'))
  for (const line of unexpected) console.log(`\nskipped, without a line in test/ecosystem/expected-skips: ${line}`)
  return failed.length === 0 && unexpected.length === 0
}

type Binaries = Readonly<Partial<Record<ServerName, string>>>

interface Input {
  readonly only: readonly Part[]
  readonly binaries: Binaries
  readonly recorder: Recorder
}

/** The servers end with the command, however it ends. */
async function inCluster({ only, binaries, recorder }: Input): Promise<void> {
  recorder.say('starting the servers')
  const starting = World.start()
  const stop = () => starting.then((world) => world.stop())
  const interrupted = () => void stop().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  try {
    const world = await starting
    const cluster = await bringToLife(world)
    if (binaries.prometheus !== undefined) {
      const prometheus = await scraping(cluster, binaries.prometheus)
      recorder.say('Prometheus scrapes Joiner as the job karpenter')
      if (only.includes('boards'))
        await toItsEnd('boards', recorder, async () => {
          await live({ world, prometheus, say: recorder.say })
          await evaluate(prometheus, recorder)
        })
      if (only.includes('mutations')) await toItsEnd('mutations', recorder, () => mutate(cluster, prometheus, recorder))
    }
    const keda = binaries['keda-operator']
    if (keda !== undefined) await toItsEnd('keda', recorder, () => scaleByKeda(world, keda, recorder))
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, interrupted)
    await stop()
  }
}

/** Has a command of its own prove a part; it prints what it does. */
async function proveByCommand(part: keyof typeof commands, { record }: Recorder): Promise<void> {
  const command = ['run', ...commands[part]]
  const child = spawn('npm', command, { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  record({ part, what: `npm ${command.join(' ')}`, outcome: `ended with ${code}`, isOk: code === 0 })
}

/** Runs a part. One that breaks off has failed, and the others still run. */
async function toItsEnd(part: Part, { say, record }: Recorder, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    say(String(error))
    const outcome = String(error).slice(0, 300).replaceAll('\n', ' ')
    record({ part, what: 'runs to its end', outcome, isOk: false })
  })
}

async function scraping({ world, targets }: LivingCluster, binary: string): Promise<Prometheus> {
  const { supervisor, stateDir } = world.cluster
  const prometheus = await Prometheus.start({
    binary,
    folder: join(stateDir, 'prometheus'),
    supervisor,
    targets: Object.values(targets),
    rules: rulesText(sixtyTimesFaster),
  })
  await world.until('all processes are scraped', async () => (await prometheus.up()) === Object.keys(targets).length)
  return prometheus
}
