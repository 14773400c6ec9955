import { expect, it } from 'vitest'
import { joinProblem } from './join-problem.ts'

it.each<[string, string | undefined]>([
  ['{"ExitCode":"50","Output":"..."}', 'the node reaches nothing outside'],
  ['Enable failed: exit status 51', 'the node does not reach the API server'],
  ['{"ExitCode": "0"} kubelet: dial tcp 10.0.0.1:443: i/o timeout', 'kubelet could not reach the API server'],
  [
    'kubelet[1]: dial tcp: lookup c.hcp.westus2.azmk8s.io: no such host',
    "kubelet finds no address for the API server's name",
  ],
  ['Failed to pull image "mcr.microsoft.com/oss/kubernetes/pause:3.6"', 'image pull of pause failed'],
  ['container runtime network not ready: NetworkPluginNotReady message:cni plugin not initialized', 'CNI missing'],
  ['x509: certificate signed by unknown authority', "kubelet does not trust the API server's certificate"],
  ['kubelet bootstrap: Unauthorized', "the API server refused the node's bootstrap token"],
  ['write /var/lib: No space left on device', 'the OS disk is full'],
  ['{"ExitCode":"240"}', "the node's controller refused its configuration"],
  ['Linux version 6.8.0, login:', undefined],
  ['{"ExitCode":"9999"}', undefined],
])('%s', (text, expected) => {
  const said = joinProblem(text)
  expect(said?.split(': ')[0]).toBe(expected)
  if (said !== undefined) expect(said.length).toBeGreaterThan(expected?.length ?? 0)
})

it('takes no longer for a text that is made to be slow', () => {
  const before = process.cpuUsage()
  joinProblem(`${'connect '.repeat(2000)}${'pause '.repeat(2000)}`.slice(0, 16_384))
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(500)
})
