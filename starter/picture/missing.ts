// Why sources cannot be read, and what to do about it.
import { isForbidden, isNotFound, placeOf } from '../../activities/kubernetes/client/api-error.ts'
import { KubeconfigError } from '../../activities/kubernetes/client/kubeconfig.ts'
import { defined } from '../../core/values/defined.ts'
import { printableStart } from '../../core/values/printable.ts'
import { CommandError, ReportedError } from '../document/reported-error.ts'
import { type Missing, missingLines } from './gaps.ts'

/** Why a source cannot be read, by whoever knows the remedy as well. */
export class SourceError extends ReportedError {
  readonly remedy: string

  constructor(why: string, remedy: string) {
    super(why)
    this.remedy = remedy
  }
}

/** Why there is no answer: sources that it needs could not be read, a line for each reason. */
export class LackingError extends CommandError {
  /** Whether rights are among what it takes, which asking again does not bring. */
  readonly isForbidden: boolean
  readonly lost: readonly Missing[]

  constructor(lost: readonly Missing[]) {
    super(...missingLines(lost))
    this.lost = lost
    this.isForbidden = lost.some(({ isForbidden }) => isForbidden)
  }
}

const longestReason = 400

/** Returns what is missing, with the remedy for that error. `asOfMs`: it was read, and can be watched no longer. */
export function missingOf(what: string, error: unknown, asOfMs?: number): Missing {
  const isWatched = asOfMs !== undefined
  const missing = { what, remedy: remedyOf(what, error, isWatched ? 'watch' : 'list'), ...defined({ asOfMs }) }
  if (!isForbidden(error)) return { ...missing, why: whyOf(error) }
  const at = placeOf(error)
  return {
    ...missing,
    why: `no right to ${isWatched ? 'watch' : 'read'} it${at === undefined ? '' : ` at ${at}`}`,
    isForbidden: true,
  }
}

/** Says that an answer cannot be given, since the API server did not let a source of it be read: why, and what to do. */
export function unanswered(error: unknown): string {
  return `${whyOf(error)}; ${remedyOf(undefined, error)}`
}

/** What an error says, on one line and not endless. */
export function whyOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  const said =
    error instanceof AggregateError
      ? error.errors.map(whyOf).join('; ')
      : error instanceof KubeconfigError
        ? error.why
        : (error as Error | undefined)?.message
  return printableStart((said || String(code ?? error)).replaceAll(/\s+/g, ' ').trim(), longestReason)
}

function remedyOf(what: string | undefined, error: unknown, verb = 'list'): string {
  if (error instanceof SourceError || error instanceof KubeconfigError) return error.remedy
  if (isForbidden(error))
    return /configmap|joiner-/i.test(what ?? (error as Error).message)
      ? "the role joiner-operator has that right in Joiner's namespace, which --joiner-namespace names"
      : what === undefined
        ? 'the role joiner-operator has that right'
        : `the role joiner-operator has that right (kubectl auth can-i ${verb} ${what.toLowerCase()} --all-namespaces)`
  if (isNotFound(error)) return 'install the CRDs where Joiner runs (joiner admin crds apply)'
  const { code = '' } = error as { readonly code?: string | number }
  const said = `${code} ${whyOf(error)}`
  const known = remedies.find(([cause]) => cause.test(said))?.[1]
  const place = placeOf(error)
  const answers = 'check that the API server answers (kubectl get --raw /readyz)'
  if (place !== undefined) return `${known ?? answers}; this is ${place}, --context names another`
  return known === undefined ? `${answers}, --kubeconfig and --context` : `${known}; check --kubeconfig and --context`
}

/** What to do about an API server that gives no answer, by the code and the words of the error. */
const remedies: readonly (readonly [cause: RegExp, remedy: string])[] = [
  [/^401 /, 'log in again (az login), then run kubectl get nodes once, which shows what the login lacks'],
  [/^(ENOTFOUND|EAI_AGAIN) /, 'join the network that knows its name, such as the VPN of a private cluster'],
  [/ECONNREFUSED/, 'start the cluster (az aks start)'],
  [/CERT|SELF_SIGNED|SIGNATURE/, 'take its certificate again (az aks get-credentials --overwrite-existing)'],
  [
    /the answer is not JSON/,
    'let no proxy answer in its place: HTTPS_PROXY is not read, proxy-url of the kubeconfig is',
  ],
]
