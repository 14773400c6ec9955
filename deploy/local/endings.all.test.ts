// However a local cluster ends, nothing of it is left.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LocalRunner, untilAllGone } from '../../test/local-runner.ts'

let runner: LocalRunner

beforeEach(async () => {
  runner = await LocalRunner.begin()
})

afterEach(() => runner.end())

test('Ctrl-C ends everything', async () => {
  const running = await runner.upInForeground()
  process.kill(running.pid, 'SIGINT')
  await untilAllGone(running)
  expect(await runner.exitCode()).toBe(0)
})

test('kill -9 of the runner leaves nothing behind', async () => {
  const running = await runner.upInForeground()
  process.kill(running.pid, 'SIGKILL')
  await untilAllGone(running)
})

test('a server that crashes takes everything down', async () => {
  const running = await runner.upInForeground()
  process.kill(running.processes['etcd'] as number, 'SIGKILL')
  await untilAllGone(running)
  expect(await runner.exitCode()).toBe(1)
})
