import { createHttpHeaders, createPipelineRequest, RestError } from '@azure/core-rest-pipeline'
import { describe, expect, it } from 'vitest'
import { blockedBy, type GoldenMark, goldenSizes, hasGoldenCases, readGolden } from '../../test/golden-cases.ts'
import {
  armErrorCode,
  armErrorText,
  classifyRefusal,
  isMissing,
  retryAfterSeconds,
  scrubbedMessage,
} from './azure-error.ts'
import { covers, marksFor } from './mark.ts'

interface ErrorCase {
  readonly name: string
  readonly path: string
  readonly region: string
  readonly instanceType: string
  readonly zone: string
  readonly capacityType: string
  readonly priorMarks?: readonly GoldenMark[]
  readonly response: {
    readonly status?: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
  }
  readonly expected: {
    readonly handled: boolean
    readonly conditionReason?: string
    readonly errorCode?: string
    readonly marks: readonly GoldenMark[]
  }
}

function restError(status: number, body: string, headers: Readonly<Record<string, string>> = {}): RestError {
  const request = createPipelineRequest({ url: 'https://management.azure.com/' })
  const response = { request, status, headers: createHttpHeaders({ ...headers }), bodyAsText: body }
  const parsed = parse(body)
  const error = new RestError(parsed?.error?.message ?? body, {
    statusCode: status,
    request,
    response,
    ...(parsed?.error?.code === undefined ? {} : { code: parsed.error.code }),
  })
  error.details = parsed
  return error
}

function parse(body: string): { readonly error?: { readonly code?: string; readonly message?: string } } | undefined {
  try {
    return JSON.parse(body) as never
  } catch {
    return undefined
  }
}

function vmCases(): readonly ErrorCase[] {
  if (!hasGoldenCases) return []
  const { cases } = readGolden('vectors/errors.json') as { readonly cases: readonly ErrorCase[] }
  return cases.filter(({ path, response, priorMarks }) => {
    return path.startsWith('vm') && response.body !== undefined && (priorMarks ?? []).length === 0
  })
}

describe('a refused VM', () => {
  it.for(vmCases())('$name', ({ region, instanceType, zone, capacityType, response, expected }) => {
    const error = restError(response.status ?? 400, response.body ?? '', response.headers)
    const attempted = { instanceType, zone, capacityType }
    const refusal = classifyRefusal(armErrorCode(error) ?? '', armErrorText(error), attempted)
    expect(refusal !== undefined).toBe(expected.handled)
    if (refusal === undefined) return
    if (expected.conditionReason !== undefined) expect(refusal.reason).toBe(expected.conditionReason)

    const sizes = goldenSizes(`skus/${region}.json`, region)
    const size = sizes.find(({ name }) => name === instanceType)
    const zoneLabels = (numbers: readonly string[]) => ['0', ...numbers.map((number) => `${region}-${number}`)]
    const marks = marksFor({ ...attempted, family: size?.family ?? '', vCpus: size?.vCpus ?? 0 }, refusal.scope, {
      untilMs: refusal.ttlMs,
      reason: refusal.reason,
      zones: zoneLabels(size?.zones ?? []),
    })
    const expectedBlocks = blockedBy(expected.marks, sizes)
    for (const { name, family, vCpus, zones } of sizes) {
      for (const where of zoneLabels(zones)) {
        for (const which of ['spot', 'on-demand']) {
          const offering = { instanceType: name, family, vCpus, zone: where, capacityType: which }
          const blocked = [...marks.values()].some((mark) => covers(mark, offering))
          expect({ ...offering, blocked }).toEqual({ ...offering, blocked: expectedBlocks(offering) })
        }
      }
    }
    for (const mark of expected.marks) expect(refusal.ttlMs).toBe(mark.ttlSeconds * 1000)
  })
})

describe('an error of ARM', () => {
  const quota = restError(429, '{"error":{"code":"TooManyRequests","message":"slow down\\nsecret line"}}', {
    'retry-after': '17',
  })

  it('gives code, missing and Retry-After', () => {
    expect(armErrorCode(quota)).toBe('TooManyRequests')
    expect(retryAfterSeconds(quota)).toBe(17)
    expect(isMissing(quota)).toBe(false)
    expect(isMissing(restError(404, '{"error":{"code":"ResourceNotFound","message":"gone"}}'))).toBe(true)
    expect(retryAfterSeconds(new Error('reset'))).toBeUndefined()
    expect(armErrorCode(new Error('reset'))).toBeUndefined()
  })

  it('is shown by its first line only', () => {
    expect(scrubbedMessage(quota)).toBe('TooManyRequests (HTTP 429): slow down')
    expect(scrubbedMessage(restError(500, 'x'.repeat(5000))).length).toBeLessThan(400)
  })
})
