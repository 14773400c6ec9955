import { describe, expect, it } from 'vitest'
import type { Condition } from '../../../core/objects.ts'
import { compareVersions, kubernetesVersionFinding } from './kubernetes-version.ts'

const ready: Condition = { type: 'KubernetesVersionReady', status: 'True' }
const look = (before: string | undefined, gitVersion: string, conditions: readonly Condition[] = [ready]) =>
  kubernetesVersionFinding(
    { status: { images: [], conditions, ...(before === undefined ? {} : { kubernetesVersion: before }) } },
    { kind: 'version', gitVersion },
  )

describe('the Kubernetes version of new nodes (reference/azure-provider.md 1.6)', () => {
  it.each([
    ['the first look', undefined, 'v1.33.2', '1.33.2'],
    ['an empty one', '', 'v1.33.2', '1.33.2'],
    ['a newer patch', '1.33.2', 'v1.33.10', '1.33.10'],
    ['a newer minor', '1.33.2', 'v1.34.0', '1.34.0'],
    ['the same', '1.33.2', 'v1.33.2', undefined],
    ['an older one', '1.33.2', 'v1.32.9', undefined],
  ])('%s', (_, before, server, after) => {
    const finding = look(before, server)
    expect(finding.status?.kubernetesVersion).toBe(after)
    expect(finding.conditions?.at(-1)).toEqual(ready)
  })

  it('a newer one makes the images invalid', () => {
    expect(look('1.33.2', 'v1.34.0').conditions?.[0]).toMatchObject({
      type: 'ImagesReady',
      status: 'False',
      reason: 'KubernetesUpgrade',
    })
    expect(look('1.33.2', 'v1.33.2').conditions).toEqual([ready])
    expect(look(undefined, 'v1.33.2').conditions).toEqual([ready])
  })

  it('an older one is used as long as none is ready', () => {
    expect(look('1.33.2', 'v1.32.9', []).status?.kubernetesVersion).toBe('1.32.9')
  })

  it('an answer without a version changes nothing', () => {
    const failed = new Error('no answer')
    const none = kubernetesVersionFinding({ status: { images: [], conditions: [] } }, { kind: 'error', error: failed })
    expect(none).toEqual({ error: failed })
    const strange = look('1.33.2', 'tomorrow')
    expect([strange.conditions, strange.status]).toEqual([undefined, undefined])
    expect(String(strange.error)).toContain('"tomorrow"')
  })

  it('versions are ordered as semver orders them', () => {
    const ordered = [
      '1.9.0',
      '1.10.0-alpha',
      '1.10.0-alpha.1',
      '1.10.0-alpha.beta',
      '1.10.0-beta.2',
      '1.10.0-beta.11',
      '1.10.0',
      '1.10.1',
      '2.0.0',
    ]
    for (const [i, a] of ordered.entries())
      for (const [j, b] of ordered.entries())
        expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)])
    expect(compareVersions('1.33.2+build.1', '1.33.2')).toBe(0)
    expect(compareVersions('', '0.0.0')).toBeLessThan(0)
  })
})
