import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'yaml'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { markedCrd, markerOf, readMarkedCrd } from '../../../activities/kubernetes/client/installation.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import {
  describeInstallation,
  type Installation,
  installationAnnotation,
  ownershipOf,
} from '../../../core/installation.ts'
import { say } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { whyOf } from '../../picture/missing.ts'
import { asAdministrator, exitCodeOf, withCluster } from '../access/cluster.ts'
import {
  type Crd,
  convertedNames,
  holdsOld,
  installationOf,
  isConvertedByJoiner,
  oldVersion,
  patched,
  readCrd,
  releaseOf,
  storeAsNew,
  wantedSpec,
} from '../shared/crd-release.ts'
import type { ClusterOptions } from '../shared/options.ts'

const establishedMs = 30_000

/** The installation whose CRDs a command works on. */
export interface CrdOptions extends ClusterOptions {
  readonly release: string
  readonly dryRun?: true
}

/** Creates or updates the CRDs of a folder. Returns the exit code. */
export function applyCrds({ from, ...options }: CrdOptions & { readonly from: string }): Promise<number> {
  return withInstallation(options, async (client, own) => {
    const marked = await readMarkedCrd(client)
    const ownership = ownershipOf(marked === undefined ? undefined : markerOf(marked), own)
    if (ownership.kind === 'foreign')
      throw new CommandError(
        `CustomResourceDefinition ${markedCrd}: annotation ${installationAnnotation} names ${describeInstallation(ownership.owner)}; upgrade that one, or give the CRDs to this one: joiner admin takeover --release ${own.release} --joiner-namespace ${own.namespace}`,
      )
    for (const manifest of await manifestsOf(from)) {
      const { name } = (manifest as unknown as Crd).metadata
      const change = options.dryRun === true ? wouldBeApplied : applied
      say(`${name} ${await change(client, manifest, own.namespace)}`)
    }
  })
}

/** Ends the conversion of the CRDs and their ownership. Returns the exit code. */
export function releaseCrds(options: CrdOptions): Promise<number> {
  return withInstallation(options, async (client, own) => {
    const marked = await readMarkedCrd(client)
    const ownership = ownershipOf(marked === undefined ? undefined : markerOf(marked), own)
    if (ownership.kind === 'foreign') {
      say(`the CRDs are those of ${describeInstallation(ownership.owner)}; nothing was done`)
      return
    }
    for (const name of convertedNames) {
      const crd = await readCrd(client, name)
      if (crd === undefined || !isConvertedByJoiner(crd)) {
        say(`${name} is not converted by Joiner; nothing was done`)
        continue
      }
      if (options.dryRun === true) {
        const stored = holdsOld(crd) ? `, once its ${oldVersion} objects are stored as v1` : ''
        say(`${name} would be converted by nobody, and ${oldVersion} not served${stored}`)
        continue
      }
      if (holdsOld(crd)) say(`${name}: ${await storeAsNew(client, name, crd)} objects are stored as v1`)
      await patched(client, name, releaseOf)
      say(`${name} is converted by nobody; ${oldVersion} is not served`)
    }
  })
}

function withInstallation(
  options: CrdOptions,
  work: (client: KubernetesClient, own: Installation) => Promise<void>,
): Promise<number> {
  const done = async (client: KubernetesClient) => {
    await work(client, await installationOf(client, options))
    return 0
  }
  return exitCodeOf(() => withCluster(options, done), asAdministrator)
}

async function manifestsOf(folder: string): Promise<readonly Json[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new CommandError(`--from "${folder}": cannot be read: ${whyOf(error)}; name a folder of CRD manifests`)
  })
  const files = names.filter((name) => name.endsWith('.yaml')).toSorted()
  if (files.length === 0)
    throw new CommandError(`--from "${folder}": holds no .yaml file; name a folder of CRD manifests`)
  return Promise.all(files.map(async (name) => parse(await readFile(join(folder, name), 'utf8')) as Json))
}

async function applied(client: KubernetesClient, manifest: Json, namespace: string): Promise<string> {
  const { name } = (manifest as unknown as Crd).metadata
  const installed = await readCrd(client, name)
  if (installed === undefined) {
    const spec = wantedSpec(manifest, undefined, namespace)
    await client.create(resourcePath('customresourcedefinitions'), { ...manifest, spec })
    await untilEstablished(client, name)
    return 'created'
  }
  const changed = await patched(client, name, (crd) => [
    { op: 'replace', path: '/spec', value: wantedSpec(manifest, crd, namespace) },
  ])
  if (changed) await untilEstablished(client, name)
  return changed ? 'updated' : 'unchanged'
}

/** What {@link applied} would say. The API server makes the new spec without storing it, since it fills in defaults. */
async function wouldBeApplied(client: KubernetesClient, manifest: Json, namespace: string): Promise<string> {
  const { name } = (manifest as unknown as Crd).metadata
  const installed = await readCrd(client, name)
  if (installed === undefined) return 'would be created'
  const value = wantedSpec(manifest, installed, namespace)
  const path = `${resourcePath('customresourcedefinitions', name)}?dryRun=All`
  const after = await client.jsonPatch(path, [{ op: 'replace', path: '/spec', value }])
  return isDeepStrictEqual(after['spec'], installed['spec']) ? 'unchanged' : 'would be updated'
}

async function untilEstablished(client: KubernetesClient, name: string): Promise<void> {
  const deadline = Date.now() + establishedMs
  for (;;) {
    const crd = (await readCrd(client, name)) as unknown as Crd | undefined
    if (crd?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true)
      return
    if (Date.now() > deadline)
      throw new CommandError(
        `CustomResourceDefinition ${name}: not established after ${establishedMs / 1000} s; kubectl describe crd ${name} says why`,
      )
    await wait(200)
  }
}
