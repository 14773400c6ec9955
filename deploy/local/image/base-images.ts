// What the stages of deploy/Dockerfile begin with.
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Progress, unpackPackages } from '../debian/packages.ts'
import { type Buildah, inFolder } from './buildah.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Arguments of the Dockerfile, and where their images come from. */
export interface BaseImages {
  readonly NODE_IMAGE: string
  readonly BASE_IMAGE: string
  /** `assembled`: from npm's Node and this machine's Debian packages, not what a release is made of. */
  readonly origin: 'registries' | 'assembled'
}

const registries = ['https://registry-1.docker.io/v2/', 'https://gcr.io/v2/'] as const
const answerMs = 3000
const assembled = { NODE_IMAGE: 'localhost/joiner-node-base', BASE_IMAGE: 'localhost/joiner-cc-base' } as const

/** Names the Dockerfile's own base images where their registries answer, else makes such from packages, once. Errors: these packages don't come. */
export async function baseImages(buildah: Buildah, progress: Progress): Promise<BaseImages> {
  const answers = await Promise.all(registries.map(answersAt))
  if (answers.every(Boolean)) {
    const defaults = await readFile(join(root, 'deploy', 'Dockerfile'), 'utf8')
    const of = (name: string) => new RegExp(`^ARG ${name}=(.+)$`, 'm').exec(defaults)?.[1] ?? ''
    const NODE_IMAGE = `docker.io/library/${of('NODE_IMAGE')}`
    return { NODE_IMAGE, BASE_IMAGE: of('BASE_IMAGE'), origin: 'registries' }
  }
  const { version } = JSON.parse(await readFile(join(root, 'node_modules/node/package.json'), 'utf8')) as Manifest
  const names = { NODE_IMAGE: `${assembled.NODE_IMAGE}:${version}`, BASE_IMAGE: `${assembled.BASE_IMAGE}:1` }
  progress(`${registries.filter((_, index) => !answers[index]).join(' and ')} do not answer: base images are assembled`)
  if (!(await buildah.has(names.BASE_IMAGE))) await assembleBase(buildah, names.BASE_IMAGE)
  if (!(await buildah.has(names.NODE_IMAGE))) await assembleNode(buildah, names.NODE_IMAGE)
  return { ...names, origin: 'assembled' }
}

interface Manifest {
  readonly version: string
}

async function answersAt(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(answerMs) }).then(
    ({ status }) => status < 500,
    () => false,
  )
}

const libraries = ['libc6', 'libgcc-s1', 'libstdc++6'] as const

/** As distroless' cc: glibc, libstdc++, certificates and time zones, for user 65532. */
async function assembleBase(buildah: Buildah, name: string): Promise<void> {
  await inFolder(async (folder) => {
    await unpackPackages([...libraries, 'ca-certificates', 'netbase', 'tzdata'], folder)
    const certificates = globSync('usr/share/ca-certificates/mozilla/*.crt', { cwd: folder }).toSorted()
    const texts = await Promise.all(certificates.map((path) => readFile(join(folder, path), 'utf8')))
    await put(folder, 'etc/ssl/certs/ca-certificates.crt', texts.join(''))
    await put(
      folder,
      'etc/passwd',
      'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
    )
    await put(folder, 'etc/group', 'root:x:0:\nnonroot:x:65532:\n')
    await put(folder, 'etc/nsswitch.conf', 'hosts: files dns\n')
    await mkdir(join(folder, 'tmp'))
    await chmod(join(folder, 'tmp'), 0o1777)
    await buildah.assemble(name, folder, ['USER 65532', `ENV PATH=${path}`])
  })
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** As Node's image: Node and npm on a Debian with a shell. */
async function assembleNode(buildah: Buildah, name: string): Promise<void> {
  await inFolder(async (folder) => {
    const shell = ['dash', 'coreutils', 'findutils', 'libacl1', 'libattr1', 'libgmp10', 'libselinux1', 'libpcre2-8-0']
    await unpackPackages([...libraries, ...shell], folder)
    await mkdir(join(folder, 'usr/local/bin'), { recursive: true })
    await copyFile(join(root, 'node_modules/node/bin/node'), join(folder, 'usr/local/bin/node'))
    await run('npm', ['install', '--global', '--prefix', join(folder, 'usr/local'), '--ignore-scripts', 'npm@11'])
    await put(folder, 'etc/passwd', 'root:x:0:0:root:/root:/bin/sh\n')
    await mkdir(join(folder, 'tmp'))
    await buildah.assemble(name, folder, [`ENV PATH=${path}`])
  })
}

async function put(folder: string, file: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true })
  await writeFile(join(folder, file), text)
}
