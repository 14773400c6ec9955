// Given to a Joiner process by --import: its scheduler runs in the thread of solver-thread.ts beside this file.
import { registerHooks } from 'node:module'

const faulty = new URL('./solver-thread.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier.endsWith('/activities/scheduler-thread/thread.ts')
      ? { url: faulty, shortCircuit: true }
      : next(specifier, context),
})
