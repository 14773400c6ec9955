import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageName, packCli } from './pack-cli.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

describe('the npm package of the command line', () => {
  let folder: string
  let installed: string

  // As npm installs it: unpacked under node_modules, and nothing else, since it depends on nothing.
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'joiner-pack-'))
    const archive = await packCli(folder)
    installed = join(folder, 'lib', 'node_modules', packageName)
    await mkdir(installed, { recursive: true })
    await run('tar', ['-xzf', archive, '--strip-components=1', '-C', installed])
    // It bundles the program and builds the page, which takes a busy machine long.
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

  test('it has what the bundle finds by its place, such as the page of joiner ui and the CRDs', async () => {
    const dist = join(installed, 'dist')
    const texts = await Promise.all((await readdir(dist)).map((name) => readFile(join(dist, name), 'utf8')))
    const wanted = texts
      .flatMap((text) => [...text.matchAll(/new URL\("(\.[^"]+)", import\.meta\.url\)/g)])
      .map(([, target = '']) => target)
    expect(wanted).toEqual(expect.arrayContaining(['../deploy/crds', '../starter/ui/dist/']))
    // What was compiled is kept where it can be.
    const made = '../node_modules/.cache/joiner'
    expect(wanted.filter((target) => target !== made && !existsSync(join(dist, target)))).toEqual([])
    expect(readdirSync(join(dist, '../starter/ui/dist'))).toContain('index.html')
    await expect(joiner('joiner', 'ui', '--kubeconfig', '/nowhere')).rejects.toMatchObject({
      stderr: expect.stringContaining('there is no such file'),
    })
  })

  test('a worker is not in it, and it says where one is', async () => {
    await expect(joiner('joiner', 'worker')).rejects.toMatchObject({
      stderr: expect.stringContaining('Joiner runs from its image'),
    })
  })

  test('it depends on no package', async () => {
    const manifest: unknown = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
    expect(manifest).not.toHaveProperty('dependencies')
  })
})
