import { describe, expect, test } from 'vitest'
import { unservedFinding } from './custom-resources.ts'

const now = Date.parse('2026-11-23T12:00:00Z')
const crd = (...storedVersions: readonly string[]) => ({ status: { storedVersions } })
const claim = (name: string, ...managedFields: readonly object[]) => ({ metadata: { name, managedFields } })
const entry = (manager: string, version: string, time: string) => ({
  manager,
  apiVersion: `karpenter.sh/${version}`,
  time,
})
const look = (found: object, claims: readonly Record<string, unknown>[] = []) =>
  unservedFinding({ crd: crd('v1'), claims, now, namespace: 'nodes', ...found })

describe('v1beta1 of NodeClaims, which is not served', () => {
  test('is not needed when all is stored as v1 and nobody wrote it lately', () => {
    const claims = [
      claim('a', entry('kubectl', 'v1', '2026-11-23T11:00:00Z'), entry('tool', 'v1beta1', '2026-11-16T11:59:59Z')),
      claim('b', entry('karpenter', 'v1beta1', '2026-11-23T11:00:00Z')),
      claim('c'),
    ]
    expect(look({}, claims)).toEqual({
      status: 'ok',
      summary: 'nodeclaims.karpenter.sh: v1beta1 is not served, and nothing needs it',
      details: [],
    })
  })

  test('is needed by a client that wrote it, which is told once, by its last write', () => {
    const claims = [
      claim('a', entry('tool', 'v1beta1', '2026-11-22T10:00:00Z')),
      claim('b', entry('tool', 'v1beta1', '2026-11-23T10:00:00Z')),
      claim('c', entry('tool', 'v1beta1', '2026-11-21T10:00:00Z')),
    ]
    const { status, summary, details, remedies } = look({}, claims)
    expect([status, details]).toEqual(['warn', []])
    expect(summary).toBe(
      'NodeClaim b: metadata.managedFields has apiVersion "karpenter.sh/v1beta1" of manager "tool" at 2026-11-23T10:00:00Z; that version is not served, so "tool" is refused with 404',
    )
    expect(remedies?.join()).toContain(
      '--namespace nodes --reset-then-reuse-values --set conversion.nodeClaims.serveV1beta1=true',
    )
  })

  test('may be stored, and what is stored is to be written anew', () => {
    const { status, summary, remedies } = look({ crd: crd('v1beta1', 'v1') })
    expect(status).toBe('warn')
    expect(summary).toContain(
      'CustomResourceDefinition nodeclaims.karpenter.sh: status.storedVersions has "v1beta1", which is not served',
    )
    expect(remedies?.join()).toContain(`-p '{"status":{"storedVersions":["v1"]}}'`)
  })

  test('may be stored where the CRD may not be read, and that is told', () => {
    const { status, details } = look({ crd: undefined })
    expect([status, details]).toEqual(['ok', [expect.stringContaining('may not read it')]])
  })
})
