import { fastify } from 'fastify'
import type { Logger } from 'pino'
import { convert } from '../../api/conversion/convert.ts'
import { isObject, type Json } from '../../api/conversion/residue.ts'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface ConversionWebhook {
  readonly address: string
  /** Serves with another certificate from now on; connections that are open stay. */
  useCertificate(certificate: Certificate): void
  close(): Promise<void>
}

/** A list of some thousand objects comes in one request. */
const bodyLimit = 256 * 1024 * 1024

/**
 * Converts NodePools and NodeClaims for the API server (`POST /convert`). It needs nothing but its certificate, so that it can serve
 * before Temporal and the caches are up. Errors: the port is taken, or the certificate cannot be read.
 */
export async function startConversionWebhook(
  port: number,
  certificate: Certificate,
  log: Logger,
): Promise<ConversionWebhook> {
  const app = fastify({ https: { ...certificate, minVersion: 'TLSv1.2' }, bodyLimit, forceCloseConnections: true })
  app.post('/convert', (request, reply) => {
    const { body } = request
    if (!isObject(body) || !isObject(body['request']) || body['apiVersion'] !== reviewVersion)
      return reply.code(400).send(`expected a ConversionReview of ${reviewVersion} with a request\n`)
    const response = answer(body['request'])
    if (response.result.status === 'Failure') log.warn({ reason: response.result.message }, 'a conversion failed')
    return { apiVersion: reviewVersion, kind: 'ConversionReview', response }
  })
  // Replicas on one machine share a port, as those in a cluster share a Service.
  const shared = { port, host: '0.0.0.0', reusePort: process.platform === 'linux' }
  const address = await app.listen(shared)
  return {
    address,
    useCertificate: (next) => app.server.setSecureContext({ ...next, minVersion: 'TLSv1.2' }),
    close: () => app.close(),
  }
}

const reviewVersion = 'apiextensions.k8s.io/v1'

interface Answer {
  readonly uid: unknown
  readonly result: { readonly status: 'Success' | 'Failure'; readonly message?: string }
  readonly convertedObjects?: readonly Json[]
}

/** All objects, or none: the API server takes no part of a list. */
function answer({ uid, desiredAPIVersion, objects }: Json): Answer {
  const failure = (message: string): Answer => ({ uid, result: { status: 'Failure', message } })
  if (typeof desiredAPIVersion !== 'string') return failure('request.desiredAPIVersion is missing')
  if (!Array.isArray(objects)) return failure('request.objects is not a list')
  const converted: Json[] = []
  for (const object of objects as readonly unknown[]) {
    const result = convert(object, desiredAPIVersion)
    if (result.kind === 'refused')
      return failure(`${nameOf(object)} cannot become ${desiredAPIVersion}: field ${result.path} ${result.message}`)
    converted.push(result.object)
  }
  return { uid, result: { status: 'Success' }, convertedObjects: converted }
}

function nameOf(object: unknown): string {
  if (!isObject(object)) return 'an object'
  const name = isObject(object['metadata']) ? object['metadata']['name'] : undefined
  return `${String(object['kind'])} "${typeof name === 'string' ? name : ''}"`
}
