import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LocalRunner, untilAllGone } from '../../test/local-runner.ts'

let runner: LocalRunner

beforeEach(async () => {
  runner = await LocalRunner.begin()
})

afterEach(() => runner.end())

test('up, status, logs and down; nothing is left', async () => {
  const said = await runner.cli('up', '--detach')
  expect(said).toContain(`export KUBECONFIG=${join(runner.stateDir, 'kubeconfig')}`)
  expect(said).toMatch(/Temporal UI: http:\/\/127\.0\.0\.1:\d+/)
  const running = await runner.state()
  expect(Object.keys(running.processes).sort()).toEqual([
    'azure',
    'etcd',
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kwok',
    'temporal',
    // The whole suite can be run with mTLS before Temporal.
    ...(process.env['JOINER_TEST_TEMPORAL_MTLS'] === '1' ? ['temporal-tls'] : []),
  ])
  const status = await runner.cli('status')
  for (const pid of Object.values(running.processes)) expect(status).toContain(`process ${pid}`)
  expect(await runner.cli('logs', 'azure')).toContain('listening on')
  await expect(runner.cli('up')).rejects.toThrow(/runs already/)
  expect(await runner.cli('down')).toContain('is down')
  await untilAllGone(running)
  await expect(runner.cli('status')).rejects.toThrow()
})

test('a folder with somebody else’s files is refused and stays as it is', async () => {
  const thesis = join(runner.stateDir, 'thesis.txt')
  await mkdir(runner.stateDir)
  await writeFile(thesis, 'years of work')
  await expect(runner.cli('up')).rejects.toThrow(/holds files of something else/)
  expect(await readFile(thesis, 'utf8')).toBe('years of work')
})
