/** Tests of the Java binding, in its package for the few things that are not public. */
@NullMarked
package dev.taskhold;

import org.jspecify.annotations.NullMarked;
