import { X509Certificate } from 'node:crypto'
import { type ConnectOptions, TemporalFileError } from './credentials.ts'
import { MissingKeyError } from './encryption.ts'
import { grpcCode, grpcCodes } from './grpc-code.ts'
import { type Handshake, handshake } from './handshake.ts'
import type { TemporalSettings } from './settings.ts'

/** Why Temporal cannot be used. */
export interface TemporalProblem {
  /** One line: what is wrong, with the value. */
  readonly what: string
  /** What to do, a line each. */
  readonly remedies: readonly string[]
}

/** The problem as one line of a log. */
export function problemText({ what, remedies }: TemporalProblem): string {
  return [what, ...remedies].join('; ')
}

/**
 * Finds what is behind an error of a connection to Temporal, of which the libraries often say no more than "deadline exceeded": it shakes hands with
 * the server once more, and looks at the client certificate.
 */
export async function explainTemporal(
  settings: Pick<TemporalSettings, 'load' | 'address' | 'namespace'>,
  error: unknown,
  now: () => number = Date.now,
): Promise<TemporalProblem> {
  if (error instanceof TemporalFileError || error instanceof MissingKeyError)
    return { what: error.message, remedies: [] }
  let options: ConnectOptions
  try {
    options = settings.load()
  } catch (reading) {
    return { what: (reading as Error).message, remedies: [] }
  }
  const place = placeOf(options)
  const code = grpcCode(error)
  if (code === grpcCodes.permissionDenied || code === grpcCodes.unauthenticated)
    return refusedCaller(options, settings.namespace, { error, now })
  if (code === grpcCodes.notFound)
    return {
      what: `${place} has no namespace "${settings.namespace}"`,
      remedies: [
        `temporal operator namespace create --namespace ${settings.namespace} --address ${options.address}, or set TEMPORAL_NAMESPACE (chart: temporal.namespace)`,
      ],
    }
  return problemOf(options, await handshake(options), { error, now })
}

const placeOf = ({ address }: ConnectOptions) => `Temporal at ${address}`

/** What a connection failed of. */
interface Failed {
  readonly error: unknown
  readonly now: () => number
}

function refusedCaller(options: ConnectOptions, namespace: string, { error, now }: Failed): TemporalProblem {
  const who =
    options.apiKey !== undefined
      ? `the API key${expiryOfKey(options.apiKey, now())}`
      : options.metadata['authorization'] !== undefined
        ? 'the authorization header'
        : `the caller${subjectOf(options)}`
  const remedy =
    options.apiKey === undefined
      ? 'give this identity the role "write" in the namespace, or set TEMPORAL_API_KEY (chart: temporal.apiKey)'
      : 'check TEMPORAL_API_KEY (chart: temporal.apiKey), and that the key has the role "write" in the namespace'
  return {
    what: `${placeOf(options)}, namespace "${namespace}", refuses ${who}: ${messageOf(error)}`,
    remedies: [remedy],
  }
}

/** API keys are mostly JSON Web Tokens, whose end can be read by anybody who has them. */
function expiryOfKey(apiKey: string, now: number): string {
  try {
    const [, body = ''] = apiKey.split('.')
    const { exp } = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as { readonly exp?: unknown }
    if (typeof exp === 'number' && exp * 1000 < now) return `, which expired at ${new Date(exp * 1000).toISOString()}`
  } catch {
    // Another kind of key says nothing.
  }
  return ''
}

const caRemedy =
  'set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the certificate of the authority that signed it (chart: temporal.tls.caKey)'
const clientRemedy =
  'replace the client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH; chart: temporal.tls.secretName); a new file is taken up without a restart'

function problemOf(options: ConnectOptions, met: Handshake, { error, now }: Failed): TemporalProblem {
  const place = placeOf(options)
  switch (met.kind) {
    case 'unreachable':
      return {
        what: `${place} cannot be reached: ${met.message}`,
        remedies: [
          'check --temporal-address, else TEMPORAL_ADDRESS (chart: temporal.address), and that the frontend runs',
        ],
      }
    case 'silent':
      return {
        what: `${place} accepts connections and does not answer`,
        remedies: ['check TEMPORAL_ADDRESS (chart: temporal.address) and the log of the frontend'],
      }
    case 'no-tls':
      return {
        what: `${place} does not speak TLS, and TLS is on`,
        remedies: [
          'set TEMPORAL_TLS=false (chart: temporal.tls.enabled), or the port that speaks TLS in TEMPORAL_ADDRESS',
        ],
      }
    case 'tls-expected':
      return {
        what: `${place} closes connections without TLS`,
        remedies: ['set TEMPORAL_TLS=true (chart: temporal.tls.enabled) if the server speaks TLS on this port'],
      }
    case 'server-untrusted':
      return {
        what: `${place}: its certificate ("${met.subject}") was signed by "${met.issuer}", which is not trusted (${met.code})`,
        remedies: [caRemedy],
      }
    case 'server-expired':
      return {
        what: `${place}: its certificate ("${met.subject}") expired at ${met.validTo}`,
        remedies: ['renew the certificate of the frontend; check the clock of this machine'],
      }
    case 'server-name':
      return {
        what: `${place}: its certificate is for ${met.names}, not for "${met.wanted}"`,
        remedies: ['set TEMPORAL_TLS_SERVER_NAME to a name in the certificate (chart: temporal.tls.serverName)'],
      }
    case 'client-refused':
      return clientRefused(options, met.alert, now())
    case 'fine':
      return { what: `${place}: ${messageOf(error)}`, remedies: ['check the log of the frontend'] }
    case 'other':
      return { what: `${place}: TLS failed: ${met.message}`, remedies: [caRemedy, clientRemedy] }
  }
}

function clientRefused(options: ConnectOptions, alert: string, now: number): TemporalProblem {
  const place = placeOf(options)
  const certificate = clientCertificate(options)
  if (certificate === undefined)
    return {
      what: `${place} demands a client certificate, and none is set`,
      remedies: ['set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH (chart: temporal.tls.secretName)'],
    }
  const file = options.certificateFile === undefined ? '' : ` in ${options.certificateFile}`
  const named = `the client certificate "${certificate.subject.replaceAll('\n', ', ')}"${file}`
  const ended = Date.parse(certificate.validTo)
  if (ended < now)
    return {
      what: `${place} refuses ${named}: it expired at ${new Date(ended).toISOString()}`,
      remedies: [clientRemedy],
    }
  const begins = Date.parse(certificate.validFrom)
  if (begins > now)
    return {
      what: `${place} refuses ${named}: it is valid from ${new Date(begins).toISOString()} on`,
      remedies: ['check the clock of this machine', clientRemedy],
    }
  const issuer = certificate.issuer.replaceAll('\n', ', ')
  return {
    what: `${place} refuses ${named}, signed by "${issuer}" (${alert}): the server does not trust that authority, or not this certificate`,
    remedies: [`${clientRemedy}; or add its authority to the client CAs of the frontend`],
  }
}

function clientCertificate({ tls }: ConnectOptions): X509Certificate | undefined {
  const crt = typeof tls === 'object' ? tls.clientCertPair?.crt : undefined
  return crt === undefined ? undefined : new X509Certificate(crt)
}

function subjectOf(options: ConnectOptions): string {
  const certificate = clientCertificate(options)
  return certificate === undefined ? '' : ` with the client certificate "${certificate.subject.replaceAll('\n', ', ')}"`
}

/** The innermost message, without the code that one of the two clients puts before it: what they wrap it in says nothing more. */
export function messageOf(error: unknown): string {
  let inner = error
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause
  const text = inner instanceof Error && inner.message !== '' ? inner.message : String(inner)
  return text
    .replace(/^\d+ [A-Z_]+: /, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, 1000)
}
