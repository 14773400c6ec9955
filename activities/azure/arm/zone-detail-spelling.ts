import type { PipelinePolicy } from '@azure/core-rest-pipeline'

/**
 * Corrects the SKU list before the SDK reads it: some answers spell a zone detail's `name` as `Name`, which the SDK drops without a word. Ultra
 * disks would then be known in no zone.
 */
export const zoneDetailSpelling: PipelinePolicy = {
  name: 'joinerZoneDetailSpelling',
  async sendRequest(request, next) {
    const response = await next(request)
    if (new URL(request.url).pathname.toLowerCase().endsWith('/providers/microsoft.compute/skus'))
      response.bodyAsText = response.bodyAsText?.replaceAll(/"Name"(?=\s*:\s*\[)/g, '"name"') ?? null
    return response
  },
}
