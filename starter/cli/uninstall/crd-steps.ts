import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isTooManyRequests } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { counted } from '../../document/words.ts'
import {
  converted,
  convertedNames,
  holdsOld,
  oldVersion,
  patched,
  readCrd,
  releaseOf,
  storeAsNew,
} from '../shared/crd-release.ts'
import type { Step, Uninstallation } from './context.ts'

/** The CRDs of the chart. */
export const chartCrds = [
  'nodepools.karpenter.sh',
  'nodeclaims.karpenter.sh',
  'nodeoverlays.karpenter.sh',
  'aksnodeclasses.karpenter.azure.com',
  'capacitybuffers.autoscaling.x-k8s.io',
] as const

/** Stores objects of old versions as v1, while the webhook still converts them. */
export function migrateStep({ kubernetes }: Uninstallation): Step {
  const old = () => crdsThat(kubernetes, holdsOld)
  return {
    todo: async () => {
      const found = await old()
      return found.length === 0
        ? undefined
        : `store as v1 what is stored as ${found.map(({ name }) => `${oldVersion} (${converted[name]})`).join(' and ')}`
    },
    run: async () => {
      for (const { name, crd } of await old()) await storeAsNew(kubernetes, name, crd)
    },
  }
}

/** Sets the conversion of the CRDs to None and removes the marker of the installation, so that no CRD names a Service that goes. */
export function detachStep({ kubernetes }: Uninstallation): Step {
  const attached = () => crdsThat(kubernetes, (crd) => releaseOf(crd).length > 0)
  return {
    todo: async () => {
      const found = await attached()
      return found.length === 0
        ? undefined
        : `set the conversion of ${counted(found.length, 'CRD')} to None, which stops serving v1beta1: ${found.map(({ name }) => name).join(', ')}`
    },
    run: async () => {
      const found = await attached()
      for (const { name } of found) await patched(kubernetes, name, releaseOf)
      for (const { name } of found) await untilServed(kubernetes, resourcePath(converted[name]))
    },
  }
}

/** Returns the CRDs with old versions that are installed and meet a condition. */
async function crdsThat(client: KubernetesClient, isMeant: (crd: Json) => boolean) {
  const found = await Promise.all(convertedNames.map(async (name) => ({ name, crd: await readCrd(client, name) })))
  return found.flatMap(({ name, crd }) => (crd !== undefined && isMeant(crd) ? [{ name, crd }] : []))
}

const mostLooks = 60

/** Waits until the API server serves a resource again: for a second after its CRD changed it refuses requests. Errors: the API server's. */
async function untilServed(client: KubernetesClient, path: string): Promise<void> {
  for (let look = 1; ; look++) {
    try {
      await client.list(path, { limit: 1 })
      return
    } catch (error) {
      if (!isTooManyRequests(error) || look >= mostLooks) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
