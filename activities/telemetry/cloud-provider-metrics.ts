import { Counter, Histogram, type Registry } from 'prom-client'
import { runningActivity } from '../activity-context.ts'
import { durationBuckets } from './buckets.ts'
import { controllerOf } from './controllers.ts'

/** Calls of upstream's controllers to a cloud (reference/karpenter-core.md 1.8). */
type CloudProviderMethod = 'Create' | 'Delete' | 'Get' | 'List' | 'GetInstanceTypes' | 'IsDrifted'

/** Upstream's names of errors. */
export type CloudProviderError =
  | 'NodeClaimNotFoundError'
  | 'InsufficientCapacityError'
  | 'NodeClassNotReadyError'
  | 'CreateError'
  | 'unknown'

interface Call {
  readonly method: CloudProviderMethod
  /** Empty where the call concerns no NodePool. */
  readonly nodePool?: string
}

/** Errors that a method may end with. Their counters start at zero with the first call, so that the first error is an increase. */
function errorsOf(method: CloudProviderMethod): readonly CloudProviderError[] {
  return method === 'Create'
    ? ['InsufficientCapacityError', 'NodeClassNotReadyError', 'CreateError', 'unknown']
    : ['unknown']
}

/**
 * Durations and errors of calls to Azure, as upstream counts calls to its cloud provider, named by the calling activity
 * (reference/karpenter-core.md 6.1, reference/karpenter-1.15.md 6).
 */
export class CloudProviderMetrics {
  readonly #duration: Histogram<'controller' | 'method' | 'provider'>
  readonly #errors: Counter<'controller' | 'method' | 'provider' | 'error' | 'nodepool'>

  constructor(registry: Registry) {
    this.#duration = new Histogram({
      name: 'karpenter_cloudprovider_duration_seconds',
      help: 'Duration of what is asked of Azure, by method.',
      labelNames: ['controller', 'method', 'provider'],
      buckets: durationBuckets,
      registers: [registry],
    })
    this.#errors = new Counter({
      name: 'karpenter_cloudprovider_errors_total',
      help: 'What was asked of Azure and failed, by method and kind of error.',
      labelNames: ['controller', 'method', 'provider', 'error', 'nodepool'],
      registers: [registry],
    })
  }

  /** Measures a call. `errorOf` names the error in an answer; `thrown` names a thrown one. */
  async measure<T>(
    call: Call,
    work: () => Promise<T>,
    {
      errorOf = () => undefined,
      thrown = () => 'unknown',
    }: {
      readonly errorOf?: (answer: T) => CloudProviderError | undefined
      readonly thrown?: (error: unknown) => CloudProviderError
    } = {},
  ): Promise<T> {
    const controller = controllerOf(runningActivity()?.type) ?? ''
    const end = this.#duration.startTimer({ controller, method: call.method, provider: 'azure' })
    const { method, nodePool: nodepool = '' } = call
    const failed = (error: CloudProviderError, times = 1) =>
      this.#errors.inc({ controller, method, provider: 'azure', error, nodepool }, times)
    for (const error of errorsOf(method)) failed(error, 0)
    try {
      const answer = await work()
      const error = errorOf(answer)
      if (error !== undefined) failed(error)
      return answer
    } catch (error) {
      failed(thrown(error))
      throw error
    } finally {
      end()
    }
  }
}
