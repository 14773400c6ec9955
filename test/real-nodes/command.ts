// npm run real-nodes: the chart on a real kubelet.
import { access, rm } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { circumstances, table } from '../../bench/report.ts'
import { buildImage } from '../../deploy/local/image/build-image.ts'
import { megabytes } from '../../deploy/local/image/contents.ts'
import { isUnified } from '../../deploy/local/real-nodes/cgroups.ts'
import { needs, traces } from '../../deploy/local/real-nodes/machine.ts'
import { Builder, ownStateDir, type Stage, takePlace } from '../../deploy/local/real-nodes/stage.ts'
import { proveFaults } from './faults.ts'
import { followInstallPage } from './install-page.ts'
import { heldPool } from './joined/objects.ts'
import { type Findings, proveJoined } from './joined/proof.ts'
import { proveEmptied, proveLife, proveServed, proveUninstall } from './life.ts'
import { giveVolume, took } from './node-resources.ts'
import { type PodFigures, type Profile, profiles, Release } from './release.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

await new Command('npm run real-nodes --')
  .description(
    `Installs the chart on a real kubelet: Joiner's image by buildah, containerd, kube-proxy and CoreDNS on a node in namespaces of its own, beside the servers and the Azure simulator of the local cluster. For each profile: helm install with the bundled Temporal (with single the commands of docs/install-aks.md, from first to last), helm test, helm upgrade and rollback, metrics and the page by kubectl port-forward, a NodePool, a pending pod, its node up and down again by the Joiner in the cluster, and in between pods killed, memory used up, Temporal's pod replaced behind a black hole, and an API server that reaches no Services; joiner admin uninstall and helm uninstall, and a look at what is left. Prints seconds, restarts and memory by pod; ends with 1 when something is not as it should be, and leaves nothing running. Needs root on Linux, ${needs.diskGb} GB of disk and ${needs.memoryGb} GB of memory; what else is missing is named with the command that installs it. The first run builds servers from source for some ten minutes.`,
  )
  .addOption(
    new Option('--profile <profile...>', 'some profiles of the chart')
      .choices(Object.keys(profiles))
      .default(Object.keys(profiles), 'all'),
  )
  .option(
    '--image <archive>',
    'an archive that npm run image has written; without it the image is built from this checkout',
  )
  .option(
    '--joined',
    'VMs have real kubelets too, which join with what Joiner wrote into the PUT of each VM: plain, spot, with all settings of the kubelet, with startup taints, and with one byte changed',
  )
  .action(main)
  .parseAsync()
  .catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })

interface Options {
  readonly profile: readonly Profile[]
  readonly image?: string
  readonly joined?: boolean
}

async function main({ profile, image, joined = false }: Options): Promise<void> {
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  await takePlace({ stateDir: ownStateDir, joined })
  await rm(ownStateDir, { recursive: true, force: true })
  const before = await traces()
  const load = `load average ${loadavg()[0]?.toFixed(1)}`
  const archive = image === undefined ? join(root, 'build', 'image', 'joiner.tar') : resolve(image)
  if (image === undefined) await build(archive, say)
  else await access(archive)
  const { cut, isCut } = cutting()
  const onCrash = (name: string, reason: string) =>
    cut(new Error(`${name} ended by itself (${reason}): see ${join(ownStateDir, 'logs', `${name}.log`)}`))
  const isHeld = (name: string) => name.startsWith(`aks-${heldPool}-`)
  const builder = new Builder({ stateDir: ownStateDir, temporal: 'none', joined, isHeld, say, onCrash })
  const proving = async () => {
    const stage = await builder.setUp([archive])
    const rows: (readonly string[])[] = []
    for (const one of profile) rows.push(...(await prove(one, stage, say)))
    return rows
  }
  const ended = await Promise.race([isCut, proving()]).catch((error: unknown) => {
    say(`FAILED: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  })
  const taken = await took().catch(() => 'nothing')
  say('everything is ended')
  await builder.end()
  const after = await traces()
  const left = after.filter((line) => !before.includes(line))
  if (ended !== undefined)
    console.log(
      `\n${circumstances()}, ${load}, cgroups of version ${isUnified ? 2 : 1}; took ${taken}\n\n${table(['profile', 'pod', 'restarts', 'memory', 'at most', 'limit'], ended)}`,
    )
  console.log(`\nleft on this machine: ${left.length === 0 ? 'nothing' : left.join(', ')}`)
  const isGood = left.length === 0 && ended?.every(([, , restarts]) => restarts === '0') === true
  // What was cut off may wait for something still.
  process.exit(isGood ? 0 : 1)
}

/** A promise that is rejected by a signal, or by whoever knows that going on is no use. */
function cutting(): { readonly cut: (error: Error) => void; readonly isCut: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => reject(new Error(`ended by ${signal}`)))
  return { cut: reject, isCut: promise }
}

async function build(archive: string, say: (line: string) => void): Promise<void> {
  const { problems, origin } = await buildImage(archive, say)
  if (problems.length > 0) throw new Error(`Joiner's image is not as it should be: ${problems.join('; ')}`)
  say(`the image is built${origin === 'assembled' ? ' (assembled base, not distroless)' : ''}`)
}

/** Errors: a Node differs from the simulator's, and nobody knows why. */
function report({ differences, changes }: Findings): void {
  const rows = differences.map(({ field, joined, simulated, why = 'NOT EXPLAINED' }) => [field, joined, simulated, why])
  console.log(`\n${table(['field', 'real kubelet', 'simulator', 'why'], rows)}`)
  console.log(`\n${table(['one byte of', 'the node'], changes)}\n`)
  const unexplained = differences.filter(({ why }) => why === undefined).map(({ field }) => field)
  if (unexplained.length > 0) throw new Error(`not explained: ${unexplained.join(', ')}`)
}

/** Installs the chart with a profile, has it do its work, and takes it away. Returns a row for each of its pods. */
async function prove(
  profile: Profile,
  stage: Stage,
  saying: (line: string) => void,
): Promise<readonly (readonly string[])[]> {
  const say = (line: string) => saying(`${profile}: ${line}`)
  const release = new Release(stage.cluster, stage.operator)
  await giveVolume(stage, `volume-${profile}`)
  if (profile === 'single' && stage.fleet === undefined) await followInstallPage(stage, say)
  else {
    await release.install(profile)
    say('helm install has returned')
  }
  await release.ready()
  say('all pods are ready')
  await release.helm(['test', 'joiner'])
  say('helm test has passed')
  await release.upgrade()
  say('helm upgrade has replaced all pods of Joiner')
  await proveServed(stage, say)
  await release.rollback()
  say('helm rollback has replaced them again')
  if (stage.fleet === undefined) await proveLife(stage, say)
  else report(await proveJoined(stage, stage.fleet, say))
  const figures = await release.figures()
  if (stage.fleet === undefined) {
    await proveFaults(stage, release, say)
    await proveEmptied(stage, say)
  }
  await proveUninstall(stage, release, say)
  return figures.map(({ name, restarts, memory }: PodFigures) => [
    profile,
    name,
    String(restarts),
    ...[memory.now, memory.peak, memory.limit].map(megabytes),
  ])
}
