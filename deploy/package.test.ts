import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packageName, writePackage } from './package.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
/** Within the checkout, so that Node finds the dependencies; what npm would install is those of its package.json. */
const folder = join(root, 'build', `package-of-test-${process.pid}`)
const manifest = join(root, 'test/manifests/karpenter-v1.yaml')

const joiner = async (...args: readonly string[]) =>
  (await run(process.execPath, [join(folder, 'starter/joiner.js'), ...args])).stdout

beforeAll(() => writePackage(folder), 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the npm package of the command line', () => {
  it('holds no TypeScript, and what it depends on with the versions that are tested', () => {
    const own = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly name: string
      readonly version: string
      readonly dependencies: Readonly<Record<string, string>>
    }
    const { version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as typeof own
    expect([own.name, own.version]).toEqual([packageName, version])
    expect(dependencies).toMatchObject(own.dependencies)
    // The native worker is for the image.
    expect(Object.keys(own.dependencies)).not.toContain('@temporalio/worker')
    expect(Object.keys(own.dependencies)).toContain('@temporalio/client')
  })

  it('runs what the checkout runs', async () => {
    const checkout = join(root, 'starter/joiner.ts')
    for (const args of [['--version'], ['convert', manifest], ['validate', manifest], ['simulate', '--help']])
      expect(await joiner(...args), args.join(' ')).toBe((await run(process.execPath, [checkout, ...args])).stdout)
    expect(await joiner('complete', '--', 'stat')).toContain('status')
  })

  it('has no commands of the image', async () => {
    await expect(joiner('worker')).rejects.toMatchObject({
      code: 1,
      stderr: 'joiner worker is part of the image; the npm package is for people\n',
    })
    expect(await joiner('--help')).not.toContain('  local ')
  })
})
