import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from './arm-deps.ts'
import { resourceNotFound } from './arm-error.ts'
import { type ArmRequest, page, pageOf, sameLocation } from './arm-request.ts'
import { imageVersions, sizes, skuJson, spotFamily, usageItems } from './catalogue.ts'
import type { Machine } from './machines.ts'
import { deletePart, foundPart, tagPart } from './parts.ts'

const subscriptionPath = '/subscriptions/:subscription/providers/Microsoft.Compute'
const groupPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute'

/** Microsoft.Compute without its VMs: what can be had, what is used of it, images and disks. */
export function registerCompute(app: FastifyInstance, deps: ArmDeps): void {
  const { config, machines, resources } = deps
  app.get(`${subscriptionPath}/skus`, (request: ArmRequest) => {
    const asked = /location eq '([^']*)'/i.exec(request.query['$filter'] ?? '')?.[1]
    if (asked !== undefined && !sameLocation(asked, config.location)) return { value: [] }
    return { value: [...sizes.values()].map((size) => skuJson(size, config)) }
  })

  app.get(`${subscriptionPath}/locations/:location/usages`, (request: ArmRequest) =>
    page(request, config, usageItems(usedVCpus(machines.all))),
  )

  app.get(
    `${subscriptionPath}/locations/:location/communityGalleries/:gallery/images/:image/versions`,
    (request: ArmRequest) => {
      const { gallery = '', image = '' } = request.params
      const versions = imageVersions(gallery, image)
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

  const disks = `${groupPath}/disks`
  const show = (part: Parameters<typeof resources.part>[1]) => resources.part('disks', part)
  app.get(disks, (request: ArmRequest) => pageOf(request, config, machines.parts('disks'), show))
  app.get(`${disks}/:name`, (request: ArmRequest) => show(foundPart(request, 'disks', deps)))
  app.patch(`${disks}/:name`, (request: ArmRequest<{ readonly tags?: Record<string, string> } | undefined>) =>
    tagPart(foundPart(request as ArmRequest, 'disks', deps), 'disks', request.body?.tags, deps),
  )
  app.delete(`${disks}/:name`, (request: ArmRequest, reply) => deletePart(request, reply, 'disks', deps))
}

function usedVCpus(machines: readonly Machine[]): ReadonlyMap<string, number> {
  const used = new Map<string, number>()
  for (const { body } of machines) {
    const size = sizes.get(body.properties.hardwareProfile.vmSize)
    if (size === undefined) continue
    const family = body.properties.priority === 'Spot' ? spotFamily : size.family.family
    used.set(family, (used.get(family) ?? 0) + size.vCpus)
  }
  return used
}
