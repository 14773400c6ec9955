import { expect, test } from 'vitest'
import { compiledFiles, executableOf, packagesOf } from './family-build.ts'

test('packages count by their files once go build has named them', () => {
  const packages = packagesOf('\nk8s.io/api/core/v1 9\n\n\ngo.uber.org/zap 31\n')
  expect([...packages]).toEqual([
    ['k8s.io/api/core/v1', 9],
    ['go.uber.org/zap', 31],
  ])
  expect(compiledFiles(packages, '')).toBe(0)
  expect(compiledFiles(packages, 'go.uber.org/zap\nk8s.io/kubernetes/cmd/kubectl\n# a warning\n')).toBe(31)
})

test.each([
  ['k8s.io/kubernetes/cmd/kube-apiserver', 'kube-apiserver'],
  ['go.etcd.io/etcd/server/v3', 'server'],
  ['github.com/kedacore/keda/v2/cmd/operator', 'operator'],
])('the executable of %s is %s', (path, name) => {
  expect(executableOf(path)).toBe(name)
})
