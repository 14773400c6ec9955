import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import color from 'picocolors'
import { registerAzureCommand } from './azure/command.ts'
import { defaultStateDir, startCluster } from './cluster.ts'
import { demo } from './demo/demo.ts'
import { Installation } from './installation.ts'
import type { LocalCluster } from './local-cluster.ts'
import { demoFolder, isRunning, type LocalState, readState, removeState, writeState } from './local-state.ts'
import { underLoad } from './machine-load.ts'
import { Operator } from './operator.ts'
import { Builder, takePlace } from './real-nodes/stage.ts'

/** Adds what `local` takes. */
export function registerLocal(local: Command): void {
  const withState = (command: Command) =>
    command.option('--state-dir <directory>', 'directory for state, logs and keys', defaultStateDir())
  withState(local.command('up'))
    .description('Start the cluster; Ctrl-C or "local down" stops it')
    .option('--detach', 'return when the cluster is ready')
    .option(
      '--real-nodes',
      "VMs boot real kubelets and containerd, and pods run, beside a node for the cluster's own (root, Linux)",
    )
    .option('--joiner', 'run Joiner too, with the rights that its chart gives it')
    .action((options: UpOptions) => (options.detach === true ? upDetached(options) : up(options)))
  withState(local.command('down'))
    .description('Stop the cluster and all of its processes')
    .action((options: { stateDir: string }) => down(options.stateDir))
  withState(local.command('status'))
    .description('Show the processes and their addresses')
    .action((options: { stateDir: string }) => status(options.stateDir))
  withState(local.command('logs'))
    .description('Print the log of a process, or list the processes')
    .argument('[process]', 'such as kube-apiserver, temporal or azure')
    .action((name: string | undefined, options: { stateDir: string }) => logs(options.stateDir, name))
  registerAzureCommand(local)
}

/** Adds what `demo` takes. */
export function registerDemo(command: Command): void {
  command
    .option('--exit', 'exit after the demonstration, non-zero if anything was left behind')
    .action(async (options: { exit?: boolean }) => process.exit(await demo({ exit: options.exit === true })))
}

const markerName = '.joiner-local'

interface UpOptions {
  readonly stateDir: string
  readonly detach?: boolean
  readonly realNodes?: boolean
  readonly joiner?: boolean
}

async function up({ stateDir, realNodes = false, joiner = false }: UpOptions): Promise<void> {
  const running = readState(stateDir)
  if (running !== undefined) {
    console.error(
      `a local cluster runs already from ${stateDir} (process ${running.pid}); end it with "joiner local down"`,
    )
    process.exit(1)
  }
  const started = Date.now()
  let end = async () => {}
  const stop = async (code: number): Promise<never> => {
    removeState(stateDir)
    await end()
    process.exit(code)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void stop(0))
  const progress = (line: string) => console.log(color.dim(line))
  const onCrash = (name: string, reason: string) => {
    console.error(
      color.red(`${name} ended by itself (${reason}); see "joiner local logs ${name}". Everything is stopped.`),
    )
    void stop(1)
  }
  const start = async (): Promise<LocalCluster> => {
    if (realNodes) await takePlace({ stateDir, joined: true })
    clearStateDir(stateDir)
    if (realNodes) {
      const builder = new Builder({ stateDir, joined: true, sells: 'bootable', say: progress, onCrash })
      end = () => builder.end()
      return (await builder.setUp()).cluster
    }
    const cluster = await startCluster({ stateDir, progress, onCrash })
    end = () => cluster.stop()
    return cluster
  }
  const startAll = async () => {
    const cluster = await start()
    if (joiner) await startJoiner(cluster)
    return cluster
  }
  const cluster = await startAll().catch((error: unknown) => {
    console.error(color.red(error instanceof Error ? error.message : String(error)))
    return stop(1)
  })
  const state = writeState(stateDir, cluster)
  console.log(`ready in ${((Date.now() - started) / 1000).toFixed(1)} s`)
  printAddresses(state)
}

async function startJoiner(cluster: LocalCluster): Promise<void> {
  const installation = new Installation(cluster, new Operator(cluster))
  await installation.install()
  cluster.supervisor.start(installation.processSpec())
}

/** A cluster begins empty: what an earlier one left belongs to servers that are gone. A folder that no cluster made is not touched. */
function clearStateDir(stateDir: string): void {
  const marker = join(stateDir, markerName)
  if (existsSync(stateDir) && !existsSync(marker) && readdirSync(stateDir).length > 0) {
    console.error(
      `--state-dir "${stateDir}" holds files of something else; name an empty folder, or one that does not exist`,
    )
    process.exit(1)
  }
  rmSync(stateDir, { recursive: true, force: true })
  mkdirSync(stateDir, { recursive: true })
  writeFileSync(marker, 'The state of a local cluster; "joiner local up" empties this folder.\n')
}

function printAddresses(state: LocalState): void {
  console.log(`export KUBECONFIG=${state.kubeconfig}`)
  for (const [name, value] of Object.entries(state.temporalEnv)) console.log(`export ${name}=${value}`)
  console.log(`Temporal UI: ${state.temporalUi}`)
}

async function upDetached({ stateDir, realNodes = false, joiner = false }: UpOptions): Promise<void> {
  if (readState(stateDir) !== undefined) {
    console.error(`a local cluster runs already from ${stateDir}`)
    process.exit(1)
  }
  mkdirSync(dirname(stateDir), { recursive: true })
  const logPath = `${stateDir}.log`
  const log = openSync(logPath, 'w')
  const more = [...(realNodes ? ['--real-nodes'] : []), ...(joiner ? ['--joiner'] : [])]
  const args = ['local', 'up', '--state-dir', stateDir, ...more]
  const child = spawn(process.execPath, [process.argv[1] as string, ...args], {
    detached: true,
    stdio: ['ignore', log, log],
  })
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
  const ready = (async () => {
    for (;;) {
      const state = readState(stateDir)
      if (state !== undefined) return state
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })()
  const result = await Promise.race([ended, ready])
  if (typeof result === 'number') {
    console.error(readFileSync(logPath, 'utf8'))
    process.exit(1)
  }
  child.unref()
  printAddresses(result)
  process.exit(0)
}

async function down(stateDir: string): Promise<void> {
  const state = readState(stateDir)
  if (state === undefined) {
    console.log(`no local cluster runs from ${stateDir}`)
    return
  }
  process.kill(state.pid, 'SIGTERM')
  const startedAt = Date.now()
  while (isRunning(state.pid)) {
    if (Date.now() > startedAt + underLoad(60_000)) process.kill(state.pid, 'SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  console.log('the local cluster is down')
}

function status(stateDir: string): void {
  const local = readState(stateDir)
  const demo = readState(demoFolder(), 'demo')
  if (local === undefined) console.log(`no local cluster runs from ${stateDir}`)
  else show(local)
  if (demo !== undefined) {
    console.log(`the demo runs, process ${demo.pid}:`)
    show(demo)
  }
  if (local === undefined && demo === undefined) process.exitCode = 1
}

function show(state: LocalState): void {
  for (const [name, pid] of Object.entries(state.processes)) console.log(`${name.padEnd(26)} process ${pid}`)
  printAddresses(state)
}

function logs(stateDir: string, name: string | undefined): void {
  const folder = join(stateDir, 'logs')
  const names = existsSync(folder) ? readdirSync(folder).map((file) => file.replace(/\.log$/, '')) : []
  if (name !== undefined && names.includes(name)) {
    process.stdout.write(readFileSync(join(folder, `${name}.log`)))
    return
  }
  console.error(name === undefined ? 'name one of:' : `no process "${name}"; there are:`)
  for (const known of names) console.error(`  ${known}`)
  process.exitCode = 1
}
