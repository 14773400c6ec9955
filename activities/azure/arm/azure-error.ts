import { RestError } from '@azure/core-rest-pipeline'
import { ArmBudgetExhausted } from './arm-budget.ts'

/** The offerings that a refusal covers (reference/azure-provider.md 5). "Placement" is zonal or regional, as the attempt was. */
export type MarkScope =
  | 'allSpot'
  | 'allZonesOfCapacityType'
  | 'placementOfCapacityType'
  | 'zoneAllCapacityTypes'
  | 'placementAllCapacityTypes'
  | 'zoneOfCapacityType'
  | 'nothing'

export interface Refusal {
  /** Reason of the Launched condition. */
  readonly reason: string
  readonly scope: MarkScope
  readonly ttlMs: number
  /** The problem and its remedy, for condition and event. */
  readonly remedy: string
}

export interface Attempted {
  readonly instanceType: string
  readonly zone: string
  readonly capacityType: string
}

/** Reason of the Launched condition for whatever is not about capacity, as upstream's. */
export const launchFailedReason = 'CreateInstanceFailed'

const minute = 60_000
const hour = 60 * minute

/**
 * Classifies ARM's error code as a lack of capacity, in the order in which codes are checked. Undefined when the error is not about capacity,
 * so it is a failure and not an outcome.
 */
export function classifyRefusal(
  code: string,
  text: string,
  { instanceType, zone, capacityType }: Attempted,
): Refusal | undefined {
  const place = zone === '0' ? 'the region' : `zone ${zone}`
  switch (code) {
    case 'OperationNotAllowed':
      return classifyQuota(text, instanceType, capacityType)
    case 'SkuNotAvailable':
      return {
        reason: 'SKUNotAvailable',
        scope: 'placementOfCapacityType',
        ttlMs: capacityType === 'spot' ? hour : 23 * hour,
        remedy: `${instanceType} (${capacityType}) is not offered to this subscription in ${place}; other offerings are tried`,
      }
    case 'ZonalAllocationFailed':
    case 'ZonalAllocationFailure':
      return {
        reason: 'ZonalAllocationFailure',
        scope: 'zoneAllCapacityTypes',
        ttlMs: hour,
        remedy: `Azure has no room for ${instanceType} in ${place}; another zone is tried`,
      }
    case 'AllocationFailed':
      return {
        reason: 'AllocationFailure',
        scope: 'placementAllCapacityTypes',
        ttlMs: hour,
        remedy: `Azure has no room for ${instanceType}; another instance type is tried`,
      }
    case 'OverconstrainedZonalAllocationRequest':
      return {
        reason: 'OverconstrainedZonalAllocationFailure',
        scope: 'zoneOfCapacityType',
        ttlMs: hour,
        remedy: `Azure cannot meet size, zone and priority together for ${instanceType} (${capacityType}) in ${place}; another offering is tried`,
      }
    case 'OverconstrainedAllocationRequest':
      return {
        reason: 'OverconstrainedAllocationFailure',
        scope: 'placementOfCapacityType',
        ttlMs: hour,
        remedy: `Azure cannot meet size and priority together for ${instanceType} (${capacityType}); another offering is tried`,
      }
    default:
      return undefined
  }
}

function classifyQuota(text: string, instanceType: string, capacityType: string): Refusal | undefined {
  const numbers = quotaNumbers(text)
  if (text.includes('LowPriorityCores')) {
    return {
      reason: 'SubscriptionQuotaReached',
      scope: 'allSpot',
      ttlMs: hour,
      remedy: `the subscription's regional vCPU quota for spot is used up${numbers}; ask for more (lowPriorityCores) at ${askForQuota}, or allow on-demand`,
    }
  }
  if (text.includes('Family Cores quota')) {
    return {
      reason: 'SubscriptionQuotaReached',
      scope: 'allZonesOfCapacityType',
      // A plain test for these characters, as upstream's: a limit of 05 counts as none as well.
      ttlMs: text.includes('Current Limit: 0') ? hour : 10 * minute,
      remedy: `the subscription's ${capacityType} vCPU quota for the family of ${instanceType} is used up${numbers}; ask for more at ${askForQuota}, or allow other families`,
    }
  }
  if (text.includes('exceeding approved Total Regional Cores quota')) {
    return {
      reason: 'InsufficientCapacity',
      scope: 'nothing',
      ttlMs: 0,
      remedy: `the subscription's total regional ${capacityType} vCPU quota is used up${numbers}; ask for more (cores) at ${askForQuota}`,
    }
  }
  return undefined
}

const askForQuota = 'https://aka.ms/ProdportalCRP'

/** Returns the numbers in Azure's text, such as ` (limit 24, used 24, needed 2)`. */
function quotaNumbers(text: string): string {
  const shown = [
    ['limit', /Current Limit: (\d+)/],
    ['used', /Current Usage: (\d+)/],
    ['needed', /Additional Required: (\d+)/],
  ] as const
  const found = shown.flatMap(([name, pattern]) => {
    const number = pattern.exec(text)?.[1]
    return number === undefined ? [] : [`${name} ${number}`]
  })
  return found.length === 0 ? '' : ` (${found.join(', ')})`
}

/**
 * Returns ARM's error code of a failed call: the header's before the body's (reference/azure-provider.md 10.2). Undefined when the failure is
 * not an answer of ARM, or one without a code.
 */
export function armErrorCode(error: unknown): string | undefined {
  if (!(error instanceof RestError) || error.statusCode === undefined) return undefined
  const body = Object(error.details) as { readonly error?: { readonly code?: unknown }; readonly code?: unknown }
  const codes = [error.response?.headers.get('x-ms-error-code'), body.error?.code, body.code, error.code]
  return codes.find((code): code is string => typeof code === 'string' && code !== '')
}

/** Returns the code as metrics name it. */
export function metricsErrorCode(error: unknown): string {
  return armErrorCode(error) ?? 'UnknownError'
}

/** Returns the whole text of an ARM error, to search for the words that some codes need. Never to be shown or stored. */
export function armErrorText(error: unknown): string {
  if (!(error instanceof RestError)) return String(error)
  return `${error.message} ${error.response?.bodyAsText ?? JSON.stringify(error.details ?? {})}`
}

/** Returns whether the answer is HTTP 404, for whatever reason. It does not prove that a resource is gone; `isResourceGone` does. */
export function isNotFoundAnswer(error: unknown): boolean {
  return error instanceof RestError && error.statusCode === 404
}

/**
 * Returns whether ARM says that this resource does not exist: `ResourceNotFound`, and about no other resource. `ResourceGroupNotFound`,
 * `SubscriptionNotFound`, `ParentResourceNotFound` and the like come from a wrong setting and prove nothing (reference/real-aks.md 1).
 */
export function isResourceGone(error: unknown, name: string): boolean {
  if (!isNotFoundAnswer(error) || armErrorCode(error)?.toLowerCase() !== 'resourcenotfound') return false
  const about = /resource '([^']+)'/i.exec(armErrorText(error))?.[1]
  return about === undefined || about.toLowerCase().endsWith(`/${name.toLowerCase()}`)
}

/** Returns a message fit for conditions and histories: the code, the status and at most 300 characters of Azure's first line. */
export function scrubbedMessage(error: unknown): string {
  if (!(error instanceof RestError)) return error instanceof Error ? error.message.slice(0, 300) : 'unknown error'
  const [line = ''] = error.message.split('\n')
  return `${armErrorCode(error) ?? error.code ?? 'UnknownError'} (HTTP ${error.statusCode ?? 'none'}): ${line.slice(0, 300)}`
}

/** Returns the seconds that Azure asks to wait before the next attempt. */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (error instanceof ArmBudgetExhausted) return error.retryAfterMs / 1000
  if (!(error instanceof RestError)) return undefined
  const ms = retryAfterMs((name) => error.response?.headers.get(name))
  return ms === undefined || ms === 0 ? undefined : ms / 1000
}

/** Longest wait that an answer may ask for. What stands between Joiner and Azure may ask for years, in which nothing would be launched or deleted. */
const longestAskedMs = hour

/**
 * Returns the milliseconds that an answer asks to wait before the next attempt: `retry-after-ms` and `x-ms-retry-after-ms`, or `Retry-After` in
 * seconds or as an HTTP date, which is compared with the answer's own: this machine's clock may be wrong. Undefined when it asks for nothing; a date
 * that has passed is no wait, and no wait is longer than an hour.
 */
export function retryAfterMs(header: (name: string) => string | undefined): number | undefined {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const ms = Number(header(name) ?? Number.NaN)
    if (ms >= 0) return Math.min(ms, longestAskedMs)
  }
  const text = header('retry-after')?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1000, longestAskedMs)
  const waitMs = Date.parse(text) - Date.parse(header('date') ?? '')
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), longestAskedMs)
}
