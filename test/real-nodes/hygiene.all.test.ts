// However npm run real-nodes ends, nothing of it is left on the machine.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { buildImage } from '../../deploy/local/image/build-image.ts'
import { requireMachine, traces } from '../../deploy/local/real-nodes/machine.ts'
import { until } from '../../deploy/local/real-nodes/until.ts'

const command = fileURLToPath(new URL('command.ts', import.meta.url))
let folder: string
let archive: string
let broken: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-real-nodes-'))
  broken = join(folder, 'broken.tar')
  await writeFile(broken, '')
  archive = join(folder, 'joiner.tar')
  if (await isAble()) await buildImage(archive, () => undefined)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

beforeEach(async ({ skip }) => {
  await requireMachine().catch(({ message }: Error) => skip(message))
})

const isAble = () =>
  requireMachine().then(
    () => true,
    () => false,
  )

/** The command, and what it has printed. */
class Run {
  text = ''
  readonly child: ChildProcess

  constructor(image: string) {
    this.child = spawn(process.execPath, [command, '--profile', 'single', '--image', image])
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (chunk) => {
        this.text += String(chunk)
      })
  }

  async untilItSays(words: string): Promise<void> {
    await until(`it says ${words}`, 180_000, async () => {
      if (this.child.exitCode !== null) throw new Error(this.text)
      return this.text.includes(words)
    })
  }

  async exitCode(): Promise<number | null> {
    if (this.child.exitCode === null) await once(this.child, 'exit')
    return this.child.exitCode
  }
}

/** Traces by their kinds, as `traces` begins them. */
const kindsOf = (lines: readonly string[]) => [...new Set(lines.map((line) => line.split(' ')[0] ?? ''))].toSorted()

/** What is there that was not before. */
async function moreThan(before: readonly string[]): Promise<readonly string[]> {
  return (await traces()).filter((line) => !before.includes(line))
}

/** Starts it until its pods run. Returns it with what was there before. Errors: the look at the machine does not see what there is then. */
async function running(): Promise<{ readonly run: Run; readonly before: readonly string[] }> {
  const before = await traces()
  const run = new Run(archive)
  await run.untilItSays('all pods are ready')
  const more = await moreThan(before)
  expect(kindsOf(more)).toEqual(['cgroup', 'interface', 'namespace', 'process', 'route'])
  for (const part of ['interface joiner-real', 'namespace net:', 'namespace mnt:', 'namespace pid:'])
    expect(more.join('\n')).toContain(part)
  // Names of processes are cut off after 15 characters.
  for (const name of ['containerd', 'containerd-shim', 'kubelet', 'kube-proxy', 'coredns', 'pause', 'etcd'])
    expect(more.some((line) => line.startsWith('process ') && line.endsWith(` ${name}`))).toBe(true)
  return { run, before }
}

test('Ctrl-C', async () => {
  const { run, before } = await running()
  run.child.kill('SIGINT')
  expect(await run.exitCode()).toBe(1)
  expect(run.text).toContain('FAILED: ended by SIGINT')
  expect(run.text).toContain('left on this machine: nothing')
  expect(await moreThan(before)).toEqual([])
})

test('kill -9, and a failure after it', async () => {
  const { run, before } = await running()
  run.child.kill('SIGKILL')
  // The process that outlives the command removes what it had.
  await until('nothing is left', 60_000, async () => {
    const left = await moreThan(before)
    if (left.length > 0) throw new Error(left.join('\n'))
    return true
  })
  const next = new Run(broken)
  expect(await next.exitCode()).toBe(1)
  expect(next.text).toContain('FAILED: ')
  expect(next.text).toContain('left on this machine: nothing')
  expect(await moreThan(before)).toEqual([])
})

test('success', { timeout: 3_600_000 }, async () => {
  const before = await traces()
  const run = new Run(archive)
  expect(await run.exitCode(), run.text).toBe(0)
  expect(await moreThan(before)).toEqual([])
})
