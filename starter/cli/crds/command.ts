import { fileURLToPath } from 'node:url'
import { type Command, Option } from 'commander'
import { clusterOptions } from '../shared/options.ts'
import type { CrdOptions } from './run.ts'

/** The CRDs of this version, which the image and the package carry. */
const shipped = fileURLToPath(new URL('../../../deploy/crds', import.meta.url))

/** Adds what `crds` takes, which the chart's Jobs run before an install, an upgrade and an uninstall. */
export function registerCrds(command: Command): void {
  ofInstallation(command.command('apply'))
    .description('Create or update the CRDs as this version has them')
    .option('--from <folder>', 'folder of CRD manifests', shipped)
    .addHelpText(
      'after',
      `
How old versions are converted, whether v1beta1 of NodeClaims is served, and which installation owns the CRDs stay as they are.
It refuses CRDs that another installation owns. The chart runs it before an install and an upgrade (crds.manage).`,
    )
    .action(async (options: CrdOptions & { readonly from: string }) => {
      const { applyCrds } = await import('./run.ts')
      process.exitCode = await applyCrds(options)
    })
  ofInstallation(command.command('release'))
    .description('Store everything as v1, end the conversion of old versions, and give up the ownership of the CRDs')
    .addHelpText(
      'after',
      `
Run it while Joiner still converts: what is stored as v1beta1 is stored as v1 first. karpenter.sh/v1beta1 is not served afterwards, since nobody
converts it; "joiner convert" writes manifests as v1. NodePools, NodeClaims and nodes stay. The chart runs it before an uninstall (crds.manage).`,
    )
    .action(async (options: CrdOptions) => {
      const { releaseCrds } = await import('./run.ts')
      process.exitCode = await releaseCrds(options)
    })
}

function ofInstallation(command: Command): Command {
  return clusterOptions(command)
    .addOption(new Option('--release <name>', 'Helm release').default(process.env['JOINER_RELEASE'] ?? 'joiner'))
    .option('--dry-run', 'print what would become of each CRD, and change nothing')
}
