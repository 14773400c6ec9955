import type { PipelinePolicy } from '@azure/core-rest-pipeline'

/**
 * Some answers of the SKU list spell a zone detail's `name` as `Name`, which the SDK drops without a word: ultra disks would then be known in
 * no zone. The answer is put right before the SDK reads it.
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
