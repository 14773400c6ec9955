// npm run image: builds deploy/Dockerfile with buildah, without Docker and without a daemon.
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { buildImage } from './build-image.ts'
import { megabytes } from './contents.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

await new Command('npm run image --')
  .description(
    "Builds Joiner's image from this checkout by deploy/Dockerfile, with buildah, which is found on the PATH or unpacked from Debian's packages. Base images are those of the Dockerfile where their registries answer, and else assembled from npm's Node and Debian's libraries, which is said. npm's settings and the authorities of this machine are build secrets. Starts the program in the image, prints the size of each layer, and ends with 1 when the image is too large, or holds what has no place in it. Needs root on Linux, and some 3 GB below the user's cache.",
  )
  .option('--output <file>', 'the archive to write, in the layout of OCI', join(root, 'build', 'image', 'joiner.tar'))
  .action(main)
  .parseAsync()
  .catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })

async function main({ output }: { readonly output: string }): Promise<void> {
  const startedAtMs = Date.now()
  const say = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  const archive = resolve(output)
  const { name, origin, contents, problems } = await buildImage(archive, say)
  const { layers } = contents
  const total = (kind: 'compressed' | 'unpacked') => megabytes(layers.reduce((sum, layer) => sum + layer[kind], 0))
  console.log(`\n${'unpacked'.padStart(10)}  ${'compressed'.padStart(10)}  layer`)
  for (const { createdBy, compressed, unpacked } of layers)
    console.log(`${megabytes(unpacked).padStart(10)}  ${megabytes(compressed).padStart(10)}  ${createdBy.slice(0, 90)}`)
  console.log(`${total('unpacked').padStart(10)}  ${total('compressed').padStart(10)}  ${name}`)
  if (origin === 'assembled') console.log('\nassembled base, not distroless: this is not what a release is made of')
  console.log(`\n${archive}: copy it with "skopeo copy oci-archive:${archive} docker://REGISTRY/joiner:TAG"`)
  for (const problem of problems) console.error(`not as it should be: ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}
