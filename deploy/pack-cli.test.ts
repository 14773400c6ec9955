import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageName, packCli, references } from './pack-cli.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

describe('the npm package of the command line', () => {
  let folder: string
  let installed: string

  // As npm installs it: unpacked under node_modules, with what package.json names beside it, and nothing else.
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'joiner-pack-'))
    const archive = await packCli(folder)
    const modules = join(folder, 'lib', 'node_modules')
    installed = join(modules, packageName)
    await mkdir(installed, { recursive: true })
    await run('tar', ['-xzf', archive, '--strip-components=1', '-C', installed])
    const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
    }
    for (const name of Object.keys(dependencies)) {
      await mkdir(dirname(join(modules, name)), { recursive: true })
      await symlink(join(root, 'node_modules', name), join(modules, name))
    }
    // It builds the page and compiles everything, which takes a busy machine long.
  }, 180_000)

  afterAll(() => rm(folder, { recursive: true, force: true }))

  const joiner = async (bin: string, ...args: readonly string[]) => {
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
      readonly bin: Readonly<Record<string, string>>
    }
    return run(process.execPath, [join(installed, manifest.bin[bin] ?? ''), ...args], { cwd: root })
  }

  test.each(['joiner', 'kubectl-joiner'])('%s prints the version of package.json', async (bin) => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string }
    expect((await joiner(bin, '--version')).stdout.trim()).toBe(version)
  })

  test('it loads every command that needs a cluster, and says what is wrong without one', async () => {
    expect((await joiner('joiner', '--help')).stdout).toMatch(/\buninstall\b/)
    await expect(joiner('joiner', 'status', '--temporal-address', '127.0.0.1:1')).rejects.toMatchObject({
      stderr: expect.stringContaining('127.0.0.1:1 cannot be reached'),
    })
  })

  test('it reads files in a thread of its own', async () => {
    const { stdout } = await joiner('joiner', 'validate', 'examples/spot.yaml')
    expect(stdout.trim()).toBe('examples/spot.yaml: valid')
  })

  test('it has the page of joiner ui, which its server reads', async () => {
    const { readPage } = (await import(join(installed, 'starter/ui/server/page-files.js'))) as {
      readonly readPage: () => Promise<ReadonlyMap<string, { readonly bytes: Buffer }>>
    }
    const files = await readPage()
    const index = files.get('/')?.bytes.toString('utf8') ?? ''
    const [, script = ''] = /src="\.?([^"]+\.js)"/.exec(index) ?? []
    expect(files.get(script)?.bytes.length).toBeGreaterThan(1000)
    await expect(joiner('joiner', 'ui', '--kubeconfig', '/nowhere')).rejects.toMatchObject({
      stderr: expect.stringContaining('there is no such file'),
    })
  })

  test('a worker is not in it, and it says where one is', async () => {
    await expect(joiner('joiner', 'worker')).rejects.toMatchObject({
      stderr: expect.stringContaining('Joiner runs from its image'),
    })
  })

  test('it needs neither workers nor the local cluster', async () => {
    const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
      readonly dependencies: object
    }
    expect(Object.keys(dependencies)).not.toContain('@temporalio/worker')
    expect(Object.keys(dependencies)).not.toContain('proper-lockfile')
  })
})

test('a file refers to what it imports, re-exports, loads later and runs as a thread; texts are no imports', () => {
  const text = `
import a from './a.js'
export { b } from '@scope/package/b.js'
const c = () => import('plain/c.js')
const thread = new Worker(new URL('./thread.js', import.meta.url))
const said = "text from 'nobody'"
import { readFile } from 'node:fs'
`
  expect(references('starter/cli/x.js', text)).toEqual({
    files: ['starter/cli/a.js', 'starter/cli/thread.js'],
    packages: ['@scope/package', 'plain'],
  })
})
