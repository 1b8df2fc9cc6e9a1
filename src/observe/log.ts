/** Structured values beside a message. A value is printed as klog prints it; never put secrets, environments or bodies here. */
export type LogValues = Readonly<Record<string, unknown>>;

/**
 * The log of the agent: klog's levels and shape (`I1130 09:12:13.123456 PID file:line] "message" key="value"`).
 * Messages are constant sentences; what varies goes into values.
 */
export interface Logger {
  info(msg: string, values?: LogValues): void;
  warn(msg: string, values?: LogValues): void;
  /** `err` may be undefined when there is only a message. */
  error(err: unknown, msg: string, values?: LogValues): void;
  /** Logs as info when the verbosity is at least `level`. */
  debug(level: number, msg: string, values?: LogValues): void;
  /** True when `debug(level, ...)` would print: guards costly values. */
  enabled(level: number): boolean;
  /** A logger that adds `values` to every line. */
  child(values: LogValues): Logger;
}

/** Drops everything: for tests and for pieces that need no log. */
export const silentLogger: Logger = {
  info() {},
  warn() {},
  error() {},
  debug() {},
  enabled: () => false,
  child: () => silentLogger,
};
