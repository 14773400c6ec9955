import type { FastifyInstance } from 'fastify'
import type { SkuJson } from './catalogue/sku-json.ts'
import { registerParts } from './parts.ts'
import type { ArmDeps } from './server/arm-deps.ts'
import { resourceNotFound } from './server/arm-error.ts'
import { type ArmRequest, page, sameLocation } from './server/arm-request.ts'

const subscriptionPath = '/subscriptions/:subscription/providers/Microsoft.Compute'
const groupPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute'

/** Microsoft.Compute without its VMs: what can be had, what is used of it, images and disks. */
export function registerCompute(app: FastifyInstance, deps: ArmDeps): void {
  const { config, catalogue, images, quotas, pools } = deps
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

  registerParts(app, { path: `${groupPath}/disks`, type: 'disks' }, deps)

  function withRestrictions(sku: SkuJson): SkuJson {
    const size = sku.resourceType === 'virtualMachines' ? catalogue.size(sku.name) : undefined
    const more = size === undefined ? [] : pools.restrictionsOf(size)
    return more.length === 0 ? sku : { ...sku, restrictions: [...(sku.restrictions ?? []), ...more] }
  }
}
