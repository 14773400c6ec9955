import { execFile } from 'node:child_process'
import { access, mkdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Progress } from '../debian/packages.ts'
import { type BaseImages, baseImages } from './base-images.ts'
import { Buildah, inFolder } from './buildah.ts'
import { type ImageContents, problemsOf, readImage } from './contents.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))

export interface BuiltImage {
  /** Its name in the storage of {@link Buildah}. */
  readonly name: string
  readonly origin: BaseImages['origin']
  readonly contents: ImageContents
  /** What is wrong with it; nothing where it is as it should be. */
  readonly problems: readonly string[]
}

/** Builds Joiner's image from this checkout by its Dockerfile, starts its program once, and reads what it holds. `archive`: where it is written. */
export async function buildImage(archive: string, progress: Progress): Promise<BuiltImage> {
  const buildah = await Buildah.find(progress)
  const { origin, ...bases } = await baseImages(buildah, progress)
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string }
  const { stdout: commit } = await run('git', ['rev-parse', 'HEAD'], { cwd: root })
  const name = `localhost/joiner:${version}`
  const given = [...Object.entries(bases), ['COMMIT', commit.trim()]].flatMap(([key, value]) => [
    '--build-arg',
    `${key}=${value}`,
  ])
  await buildah.build(
    root,
    [
      '--layers',
      '--pull=ifmissing',
      '--file',
      join(root, 'deploy', 'Dockerfile'),
      '--tag',
      name,
      ...given,
      ...(await buildSecrets()).flatMap(([id, source]) => ['--secret', `id=${id},src=${source}`]),
    ],
    (line) => /^(\[|STEP|COMMIT)/.test(line) && progress(line),
  )
  progress('the program is started in it')
  const printed = await buildah.run(name, ['node', 'dist/joiner.js', '--version'])
  return await inFolder(async (folder) => {
    progress('it is compressed and read')
    await buildah.write(name, folder)
    const contents = await readImage(folder, await registryHosts())
    await mkdir(dirname(archive), { recursive: true })
    await run('tar', ['-cf', archive, '-C', folder, 'oci-layout', 'index.json', 'blobs'])
    const problems = problemsOf(contents)
    const isStarted = printed.includes(version)
    return { name, origin, contents, problems: isStarted ? problems : [...problems, `--version prints "${printed}"`] }
  })
}

/** What npm needs on this machine, by the ids that the Dockerfile gives them: settings of the registry, and the authority that signs for it. */
async function buildSecrets(): Promise<readonly (readonly [string, string])[]> {
  const authorities = [process.env['NODE_EXTRA_CA_CERTS'], process.env['SSL_CERT_FILE']]
  const ca = authorities.find((file) => file !== undefined && file !== '')
  const candidates = [
    ['npmrc', process.env['NPM_CONFIG_USERCONFIG'] ?? join(homedir(), '.npmrc')],
    ...(ca === undefined ? [] : [['ca', ca] as const]),
  ] as const
  const are = await Promise.all(candidates.map(([, file]) => isThere(file)))
  return candidates.filter((_, index) => are[index])
}

/** The hosts of npm's registries and of the proxies of this machine, which are nobody else's business. */
async function registryHosts(): Promise<readonly string[]> {
  const { stdout } = await run('npm', ['config', 'get', 'registry'], { cwd: root })
  const proxies = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((name) => process.env[name] ?? '')
  const hosts = [stdout.trim(), ...proxies].map((address) => URL.parse(address)?.host ?? '')
  return [...new Set(hosts)].filter((host) => host !== '')
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
