// The images that pods of a real node have, as archives.
import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Buildah, inFolder } from '../image/buildah.ts'
import { cacheFolder } from '../server-binaries.ts'
import { type ServerName, servers } from '../server-versions.ts'

const run = promisify(execFile)

const made = {
  pause: ['ENTRYPOINT ["/pause"]'],
  coredns: ['ENTRYPOINT ["/coredns"]'],
  // As the image temporalio/temporal.
  temporal: ['USER 1000', 'ENTRYPOINT ["/temporal"]'],
} as const satisfies Partial<Record<ServerName, readonly string[]>>

type Made = keyof typeof made

export const imageNames = Object.fromEntries(
  Object.keys(made).map((name) => [name, `localhost/${name}:${servers[name as Made].version}`]),
) as Readonly<Record<Made, string>>

/** Archives of images that hold one program each, by its name; they are kept by their version. */
export async function nodeImages(
  binaries: Readonly<Record<Made, string>>,
  say: (line: string) => void,
): Promise<Readonly<Record<Made, string>>> {
  const buildah = await Buildah.find(say)
  const folder = cacheFolder('images', 'archives')
  await mkdir(folder, { recursive: true })
  const archives: Partial<Record<Made, string>> = {}
  for (const name of Object.keys(made) as Made[]) {
    const archive = join(folder, `${name}-${servers[name].version}.tar`)
    archives[name] = archive
    if (
      await stat(archive).then(
        () => true,
        () => false,
      )
    )
      continue
    say(`the image of ${name} is made`)
    await inFolder(async (context) => {
      await copyFile(await pathOf(binaries[name]), join(context, name))
      await chmod(join(context, name), 0o755)
      await mkdir(join(context, 'etc'))
      await writeFile(join(context, 'etc/passwd'), `${name}:x:1000:1000::/:/\n`)
      await buildah.assemble(imageNames[name], context, made[name])
    })
    await inFolder(async (layout) => {
      await buildah.write(imageNames[name], layout)
      await run('tar', ['-cf', `${archive}.next`, '-C', layout, 'oci-layout', 'index.json', 'blobs'])
    })
    await rename(`${archive}.next`, archive)
  }
  return archives as Record<Made, string>
}

/** A binary may be a name on the PATH. */
async function pathOf(binary: string): Promise<string> {
  return binary.includes('/') ? binary : (await run('which', [binary])).stdout.trim()
}
