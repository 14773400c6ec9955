import type { PipelinePolicy } from '@azure/core-rest-pipeline'
import type { Logger } from 'pino'

/** Logs each request's method, path, status and latency at level debug. Queries, headers and bodies stay out: they hold tokens and custom data. */
export function requestLog(log: Logger): PipelinePolicy {
  return {
    name: 'joinerRequestLog',
    async sendRequest(request, next) {
      if (!log.isLevelEnabled('debug')) return next(request)
      const begun = performance.now()
      const said = { method: request.method, path: pathOf(request.url) }
      const latencyMs = () => Math.round(performance.now() - begun)
      try {
        const response = await next(request)
        log.debug({ ...said, status: response.status, latencyMs: latencyMs() }, 'called ARM')
        return response
      } catch (error) {
        const { code, name } = error as { code?: unknown; name?: unknown }
        log.debug({ ...said, error: code ?? name, latencyMs: latencyMs() }, 'failed to call ARM')
        throw error
      }
    },
  }
}

function pathOf(url: string): string {
  return URL.parse(url)?.pathname ?? ''
}
