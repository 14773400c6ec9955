import { type ConditionChange, conditionOf } from '../../../core/conditions.ts'
import type { NodeClass } from '../../../core/objects.ts'
import type { AzureDeps } from '../dependencies.ts'
import { type ResolvedImage, resolveImages } from '../images.ts'
import type { NodeClassSettings } from '../node-class-settings.ts'
import { type Finding, unread } from './finding.ts'

const type = 'ImagesReady'

/** Looks for the newest images for a Kubernetes version; none known: there is nothing to look for (reference/azure-provider.md 1.6 and 6.4). */
export async function findImages(
  deps: AzureDeps,
  nodeClass: NodeClass,
  settings: NodeClassSettings,
  kubernetesVersion: { readonly version: string; readonly isNew: boolean } | undefined,
): Promise<Finding> {
  if (kubernetesVersion === undefined) return {}
  if (settings.fips) return imagesFinding(settings, [])
  try {
    return imagesFinding(settings, await resolveImages(deps, settings, kubernetesVersion.version))
  } catch (error) {
    // Images of the version before must not be taken for new nodes, so the upgrade stands in the condition until they are found.
    const before = conditionOf(nodeClass.status.conditions, type)
    if (kubernetesVersion.isNew || before?.reason === 'KubernetesUpgrade') return { error }
    return unread(nodeClass, { type, reason: 'ImagesUnknownError', what: 'images' }, error)
  }
}

/** What found images mean. Without any, those of before go as well: they are not what the spec asks for. */
export function imagesFinding(settings: NodeClassSettings, images: readonly ResolvedImage[]): Finding {
  if (settings.fips) {
    const message = `spec.fipsMode "FIPS" needs images from a shared gallery, which Joiner does not read yet; use fipsMode: Disabled`
    return { conditions: [refusal(settings, 'SIGRequiredForFIPS', message)], status: { images: [] } }
  }
  if (images.length === 0) {
    const message = `no image of family "${settings.imageFamily}" is published in this region; choose another imageFamily`
    return { conditions: [refusal(settings, 'ImagesNotFound', message)], status: { images: [] } }
  }
  return { conditions: [{ type, status: 'True' }], status: { images } }
}

function refusal({ name }: NodeClassSettings, reason: string, message: string): ConditionChange {
  return { type, status: 'False', reason, message: `AKSNodeClass ${name}: ${message}` }
}
