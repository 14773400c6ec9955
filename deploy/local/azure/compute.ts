import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from './arm-deps.ts'
import { resourceNotFound } from './arm-error.ts'
import { type ArmRequest, page, pageOf, sameLocation } from './arm-request.ts'
import { deletePart, foundPart, tagPart } from './parts.ts'
import type { SkuJson } from './sku-catalogue.ts'

const subscriptionPath = '/subscriptions/:subscription/providers/Microsoft.Compute'
const groupPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute'

/** Microsoft.Compute without its VMs: what can be had, what is used of it, images and disks. */
export function registerCompute(app: FastifyInstance, deps: ArmDeps): void {
  const { config, machines, resources, catalogue, images, quotas, pools } = deps
  app.get(`${subscriptionPath}/skus`, (request: ArmRequest) => {
    const asked = /location eq '([^']*)'/i.exec(request.query['$filter'] ?? '')?.[1]
    if (asked !== undefined && !sameLocation(asked, config.location)) return { value: [] }
    return { value: catalogue.skus.map(withRestrictions) }
  })

  app.get(`${subscriptionPath}/locations/:location/usages`, (request: ArmRequest) =>
    page(request, config, quotas.items),
  )

  app.get(
    `${subscriptionPath}/locations/:location/communityGalleries/:gallery/images/:image/versions`,
    (request: ArmRequest) => {
      const { gallery = '', image = '' } = request.params
      const versions = images.community(gallery, image)
      if (versions === undefined)
        throw resourceNotFound('communityGalleries/images', `${gallery}/${image}`, config.nodeResourceGroup)
      return page(
        request,
        config,
        versions.map(({ name, publishedDate }) => ({
          name,
          location: config.location,
          properties: { publishedDate, excludeFromLatest: false },
          identifier: { uniqueId: `/CommunityGalleries/${gallery}/Images/${image}/Versions/${name}` },
        })),
      )
    },
  )

  app.get(
    '/subscriptions/:subscription/providers/Microsoft.ContainerService/locations/:location/nodeImageVersions',
    () => ({
      value: images.nodeImageVersions,
    }),
  )

  const disks = `${groupPath}/disks`
  const show = (part: Parameters<typeof resources.part>[1]) => resources.part('disks', part)
  app.get(disks, (request: ArmRequest) => pageOf(request, config, machines.parts('disks'), show))
  app.get(`${disks}/:name`, (request: ArmRequest) => show(foundPart(request, 'disks', deps)))
  app.patch(`${disks}/:name`, (request: ArmRequest<{ readonly tags?: Record<string, string> } | undefined>) =>
    tagPart(foundPart(request as ArmRequest, 'disks', deps), 'disks', request.body?.tags, deps),
  )
  app.delete(`${disks}/:name`, (request: ArmRequest, reply) => deletePart(request, reply, 'disks', deps))

  function withRestrictions(sku: SkuJson): SkuJson {
    const size = sku.resourceType === 'virtualMachines' ? catalogue.size(sku.name) : undefined
    const more = size === undefined ? [] : pools.restrictionsOf(size)
    return more.length === 0 ? sku : { ...sku, restrictions: [...(sku.restrictions ?? []), ...more] }
  }
}
