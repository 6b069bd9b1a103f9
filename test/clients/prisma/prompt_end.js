// A command of Prisma waits out a timer of a minute when it is done: let it end.
'use strict';

const { setTimeout } = globalThis;

globalThis.setTimeout = (callback, delay, ...args) => {
	const timer = setTimeout(callback, delay, ...args);
	return delay >= 60000 ? timer.unref() : timer;
};
