import { describe, expect, test } from 'vitest'
import { kubeletAnnotation, kubeletErrors, parseKubelet } from './kubelet-conversion.ts'

const of = (kubelet: unknown) => ({
  [kubeletAnnotation]: typeof kubelet === 'string' ? kubelet : JSON.stringify(kubelet),
})

const full = {
  clusterDNS: ['10.0.1.10', 'fd00::a'],
  maxPods: 42,
  podsPerCore: 10,
  systemReserved: { cpu: '100m', memory: '200Mi', pid: '1000' },
  kubeReserved: { 'ephemeral-storage': '1Gi' },
  evictionHard: { 'memory.available': '5%', 'nodefs.available': '' },
  evictionSoft: { 'memory.available': '500Mi' },
  evictionSoftGracePeriod: { 'memory.available': '1m30s' },
  evictionMaxPodGracePeriod: 60,
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  cpuCFSQuota: false,
}

describe('parseKubelet', () => {
  test('without the annotation there is nothing', () => {
    expect(parseKubelet({ other: '{}' })).toEqual({ kind: 'none' })
  })

  test('every field of v1beta1 is read', () => {
    expect(parseKubelet(of(full))).toEqual({ kind: 'kubelet', kubelet: full })
  })

  test('an empty object sets nothing and is valid', () => {
    expect(parseKubelet(of({}))).toEqual({ kind: 'kubelet', kubelet: {} })
  })

  test('unknown fields and nulls are ignored', () => {
    expect(parseKubelet(of({ maxPods: null, cpuManagerPolicy: 'static', toString: 1 }))).toEqual({
      kind: 'kubelet',
      kubelet: {},
    })
  })

  test.each(['', '{', '[]', '7', 'null', '"text"'])('%j is no object: the error says what to write', (text) => {
    expect(kubeletErrors(of(text))).toEqual([
      `metadata.annotations[${kubeletAnnotation}] ${text}: write the JSON object that v1beta1 had as kubelet, or remove the annotation`,
    ])
  })

  test.each([
    ['maxPods', '"110"', { maxPods: '110' }],
    ['maxPods', '-1', { maxPods: -1 }],
    ['podsPerCore', '1.5', { podsPerCore: 1.5 }],
    ['clusterDNS', '["dns"]', { clusterDNS: ['dns'] }],
    ['clusterDNS', '"10.0.0.1"', { clusterDNS: '10.0.0.1' }],
    ['systemReserved', '{"cpu":100}', { systemReserved: { cpu: 100 } }],
    ['systemReserved', '{"cpu":"-1"}', { systemReserved: { cpu: '-1' } }],
    ['kubeReserved', '{"gpu":"1"}', { kubeReserved: { gpu: '1' } }],
    ['evictionHard', '{"memory.available":"101%"}', { evictionHard: { 'memory.available': '101%' } }],
    ['evictionHard', '["memory.available"]', { evictionHard: ['memory.available'] }],
    ['evictionMaxPodGracePeriod', '"60s"', { evictionMaxPodGracePeriod: '60s' }],
    ['imageGCHighThresholdPercent', '101', { imageGCHighThresholdPercent: 101 }],
    ['imageGCHighThresholdPercent', '80', { imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80 }],
    ['cpuCFSQuota', '"false"', { cpuCFSQuota: 'false' }],
    ['evictionSoftGracePeriod', '{}', { evictionSoft: { 'pid.available': '5%' } }],
    ['evictionSoft', '{}', { evictionSoftGracePeriod: { 'pid.available': '1m' } }],
  ])('%s %s is named with annotation, value and what it must be', (field, value, kubelet) => {
    const [error, ...others] = kubeletErrors(of(kubelet))
    expect(error).toContain(`metadata.annotations[${kubeletAnnotation}]: ${field} ${value} must be `)
    expect(others).toEqual([])
  })

  test('all wrong fields are named at once, and long values are cut', () => {
    const errors = kubeletErrors(of({ maxPods: 'x'.repeat(500), podsPerCore: false }))
    expect(errors).toHaveLength(2)
    expect(errors[0]?.length).toBeLessThan(300)
  })
})
