import type { InstanceType } from '../../core/instance-type.ts'
import type { NodeClass, RequirementSpec } from '../../core/objects.ts'
import { requirements, sharedKeysIntersect } from '../../core/requirements.ts'
import type { AzureDeps } from './dependencies.ts'
import type { NodeClassSettings } from './node-class-settings.ts'

export interface ResolvedImage {
  readonly id: string
  readonly requirements: readonly RequirementSpec[]
}

type Family = 'Ubuntu' | 'Ubuntu2204' | 'Ubuntu2404' | 'AzureLinux2' | 'AzureLinux3'

/** The family that a node class' image family stands for on this Kubernetes version (reference/azure-provider.md 6.1). */
export function resolveImageFamily(
  { imageFamily, fips, trustedLaunch }: NodeClassSettings,
  kubernetesVersion: string,
): Family {
  const minor = Number(kubernetesVersion.replace(/^v/, '').split('.')[1] ?? 0)
  if (imageFamily === 'Ubuntu2204' || imageFamily === 'Ubuntu2404') return imageFamily
  if (imageFamily === 'AzureLinux') return minor >= 32 ? 'AzureLinux3' : 'AzureLinux2'
  if (fips) return trustedLaunch ? 'Ubuntu2204' : 'Ubuntu'
  if (trustedLaunch) return 'Ubuntu2204'
  return minor >= 34 ? 'Ubuntu2404' : 'Ubuntu2204'
}

const galleries = {
  ubuntu: 'AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2',
  azureLinux: 'AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b',
} as const

interface Definition {
  readonly name: string
  readonly gallery: string
  readonly arch: 'amd64' | 'arm64'
  readonly generation: '1' | '2'
}

/** Definitions of a family in the order in which a VM size takes the first that suits it (6.2). FIPS images are not in community galleries. */
export function imageDefinitions(settings: NodeClassSettings, family: Family): readonly Definition[] {
  if (settings.fips || family === 'Ubuntu') return []
  const [prefix, suffix, gallery] = familyNames[family]
  const make = (middle: string, arch: 'amd64' | 'arm64', generation: '1' | '2') => ({
    name: `${prefix}${middle}${suffix}`,
    gallery,
    arch,
    generation,
  })
  if (settings.trustedLaunch) return [make('gen2TL', 'amd64', '2')]
  return [make('gen2', 'amd64', '2'), make('', 'amd64', '1'), make('gen2arm64', 'arm64', '2')]
}

const familyNames: Readonly<Record<Exclude<Family, 'Ubuntu'>, readonly [string, string, string]>> = {
  Ubuntu2204: ['2204', 'containerd', galleries.ubuntu],
  Ubuntu2404: ['2404', 'containerd', galleries.ubuntu],
  AzureLinux2: ['V2', '', galleries.azureLinux],
  AzureLinux3: ['V3', '', galleries.azureLinux],
}

/** The newest image of each definition, by publishing date. A definition without versions is left out. */
export async function resolveImages(
  deps: AzureDeps,
  settings: NodeClassSettings,
  kubernetesVersion: string,
): Promise<readonly ResolvedImage[]> {
  const definitions = imageDefinitions(settings, resolveImageFamily(settings, kubernetesVersion))
  const images = await Promise.all(
    definitions.map(async ({ name, gallery, arch, generation }): Promise<ResolvedImage | undefined> => {
      const version = await newestVersion(deps, gallery, name)
      if (version === undefined) return undefined
      return {
        id: `/CommunityGalleries/${gallery}/images/${name}/versions/${version}`,
        requirements: [
          { key: 'kubernetes.io/arch', operator: 'In', values: [arch] },
          { key: 'karpenter.azure.com/sku-hyperv-generation', operator: 'In', values: [generation] },
        ],
      }
    }),
  )
  return images.filter((image) => image !== undefined)
}

async function newestVersion(
  { azure, config }: AzureDeps,
  gallery: string,
  definition: string,
): Promise<string | undefined> {
  let newest: { readonly name: string; readonly publishedAt: number } | undefined
  for await (const version of azure.compute.communityGalleryImageVersions.list(config.location, gallery, definition)) {
    const publishedAt = version.publishedDate?.getTime() ?? 0
    if (version.name !== undefined && (newest === undefined || publishedAt > newest.publishedAt))
      newest = { name: version.name, publishedAt }
  }
  return newest?.name
}

/** The first image that suits an instance type. */
export function selectImage(
  images: NodeClass['status']['images'],
  instanceType: InstanceType,
): ResolvedImage | undefined {
  return images.find((image) => sharedKeysIntersect(instanceType.requirements, requirements(image.requirements)))
}
