// joiner local up --real-nodes: pods run on real kubelets, and however the cluster ends nothing of it is left on the machine.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LocalRunner, untilAllGone } from '../../../test/local-runner.ts'
import { resolveBinaries } from '../server-binaries.ts'
import { requireMachine, traces } from './machine.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const examples = fileURLToPath(new URL('../../../examples/', import.meta.url))

let runner: LocalRunner
let before: readonly string[]

beforeEach(async ({ skip }) => {
  await requireMachine().catch(({ message }: Error) => skip(message))
  before = await traces()
  runner = await LocalRunner.begin()
})

afterEach(() => runner.end())

/** Waits until the machine is as it was. Errors: what is left. */
const untilNothingIsLeft = () =>
  until('nothing is left', 60_000, async () => {
    const left = (await traces()).filter((line) => !before.includes(line))
    if (left.length > 0) throw new Error(left.join(', '))
    return true
  })

async function kubectl(...args: readonly string[]): Promise<string> {
  const { kubectl: command } = await resolveBinaries(['kubectl'], () => {})
  const env = { ...process.env, KUBECONFIG: join(runner.stateDir, 'kubeconfig') }
  return (await run(command, [...args], { env })).stdout
}

/** Has two pods run, each on a VM with a kubelet and a containerd of its own. */
async function twoPodsRun(): Promise<void> {
  await kubectl('apply', '--filename', `${examples}general-purpose.yaml`, '--filename', `${examples}inflate.yaml`)
  await kubectl('scale', 'deployment', 'inflate', '--replicas=2')
  await until('two pods are available', 240_000, async () => {
    const available = ['--output', 'jsonpath={.status.availableReplicas}']
    return (await kubectl('get', 'deployment', 'inflate', ...available)) === '2'
  })
  const version = 'jsonpath={range .items[*]}{.status.nodeInfo.containerRuntimeVersion}{"\\n"}{end}'
  const runtimes = await kubectl('get', 'nodes', '--selector', 'karpenter.sh/nodepool', '--output', version)
  expect(runtimes).toMatch(/^containerd:\/\/\d/)
  expect(new Set(runtimes.trim().split('\n')).size).toBe(1)
}

test('pods run on real kubelets, whose VMs go when they are empty; Ctrl-C leaves nothing', async () => {
  const running = await runner.upInForeground('--real-nodes', '--joiner')
  await expect(runner.cli('up', '--real-nodes')).rejects.toThrow(/runs already/)
  await twoPodsRun()
  await kubectl('delete', 'deployment', 'inflate')
  await until(
    'the VMs are gone',
    240_000,
    async () => (await kubectl('get', 'nodes', '--output', 'name')) === 'node/real-1\n',
  )
  process.kill(running.pid, 'SIGINT')
  await untilAllGone(running)
  expect(await runner.exitCode()).toBe(0)
  await untilNothingIsLeft()
})

test('kill -9 of the command ends VMs with pods too, and leaves nothing', async () => {
  const running = await runner.upInForeground('--real-nodes', '--joiner')
  await twoPodsRun()
  process.kill(running.pid, 'SIGKILL')
  await untilAllGone(running)
  await untilNothingIsLeft()
})
