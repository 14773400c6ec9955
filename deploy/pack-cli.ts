// Writes the npm package of the command line: npm run pack-cli. It holds the bundle of the program, without workers and the local cluster, and depends on
// no other package.
import { execFile } from 'node:child_process'
import { cp, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './build-once.ts'
import { bundleProgram, writeManifest } from './build-program.ts'
import { buildUi } from './build-ui.ts'

const run = promisify(execFile)
const entry = 'dist/joiner.js'
/** They run from the image. */
const workers = /workers\/run-worker\.ts$/

/** Name on the npm registry: `joiner` is somebody else's. */
export const packageName = '@joiner-autoscaler/joiner'

/** Bundles the command line and packs it into a folder. Returns the path of the archive. Errors: what the bundler or npm says. */
export async function packCli(folder: string): Promise<string> {
  const package_ = join(folder, 'package')
  await rm(package_, { recursive: true, force: true })
  await bundleProgram(join(package_, 'dist'), [workers])
  await writeManifest(package_, {
    name: packageName,
    description: 'The command line of Joiner, a node autoscaler for AKS',
    // Tests run on this one.
    engines: { node: '>=24' },
    bin: { joiner: entry, 'kubectl-joiner': entry, 'kubectl_complete-joiner': entry },
  })
  await writeFile(join(package_, 'README.md'), readme)
  await cp(join(root, 'LICENSE'), join(package_, 'LICENSE'))
  // What joiner admin crds applies.
  await cp(join(root, 'deploy', 'crds'), join(package_, 'deploy', 'crds'), { recursive: true })
  // What joiner ui serves; .sources is for the next build.
  const isOfPage = (path: string) => !basename(path).startsWith('.')
  await cp(await buildUi(), join(package_, 'starter', 'ui', 'dist'), { recursive: true, filter: isOfPage })
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: package_,
  })
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[]
  return join(folder, packed?.filename ?? '')
}

const readme = `# Joiner's command line

\`joiner\` looks into and operates Joiner, a node autoscaler for AKS, from a laptop; \`kubectl joiner\` is the same. Joiner itself runs from its image.

    npm install -g ${packageName}
    joiner --help
`

if (import.meta.main) console.log(await packCli(join(root, 'build')))
